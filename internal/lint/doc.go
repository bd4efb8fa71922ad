// Package lint checks what the compiler does not: who may import whom, which libraries have one home, which packages
// stay pure, how long files get and what no file may say. Its test runs over the whole tree.
package lint
