package worldgen

import "strings"

// MaxTwoWords is how many entities there can be when names are two words of the list: every first word with every second.
const MaxTwoWords = firstWords * secondWords

const (
	firstWords  = 256
	secondWords = 512
)

// twoWords are the words that so many entities are named with: as few as leave half of the pairs unused, which are then
// names that no article holds, and twice as many second words as first.
func twoWords(entities int) (first, second []string) {
	n := root(entities)
	if n*n < entities {
		n++
	}
	n = min(n, firstWords)
	return titled(firstList)[:n], titled(secondList)[:2*n]
}

func titled(list string) []string {
	words := strings.Fields(list)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return words
}

const firstList = `
red blue green golden silver old new wild quiet bright dark cold warm young tall deep wide small brave calm
amber happy lucky noble proud royal rapid gentle sharp smooth rough heavy light clear cloudy sunny windy frozen misty dusty
sandy rocky stony grassy leafy mossy muddy snowy icy rainy stormy hidden secret silent loud sweet bitter sour salty spicy
fresh clean pure plain simple fancy grand great little tiny huge giant broad narrow short long high low upper lower
north south east west northern southern eastern western central inner outer distant near far early late first second third fourth
double single triple twin lonely busy lazy clever wise kind honest loyal faithful humble mighty strong weak soft hard solid
hollow empty full open broken bent straight round square flat steep curved crooked twisted tangled woven knitted painted carved polished
black white grey brown pink purple violet orange yellow scarlet crimson azure pale ruby pearl copper bronze iron steel wooden
velvet silken woollen cotton leather paper glass crystal marble granite clay chalk coral ivory jade opal emerald sapphire diamond platinum
ancient modern antique rustic rural urban coastal alpine polar tropical desert arctic lunar solar stellar cosmic ocean marine forest mountain
rare common famous unknown lost found fallen rising falling flying running dancing singing sleeping dreaming waking burning glowing shining sparkling
humming buzzing roaring whispering laughing smiling crying waiting walking jumping swimming sailing floating drifting wandering turning spinning rolling sliding climbing
eager jolly merry cheerful curious daring fearless gallant graceful elegant lively nimble patient playful polite serene
`

const secondList = `
river stone hill lake tree bird fish horse wolf bear fox deer lion tiger eagle hawk owl crow swan duck
goose hen rabbit hare mouse rat cat dog cow bull sheep goat lamb pig pony mule donkey camel whale shark
seal crab shell sand wave tide shore beach island harbor bay cape cliff cave valley meadow field garden orchard farm
barn mill bridge tower castle palace temple chapel church abbey school college library museum market shop store bank inn hotel
house cabin cottage hut tent camp lodge villa manor hall room door gate wall roof floor window stair ladder fence
road street lane path trail track alley avenue corner crossing station port dock pier canal dam well fountain pool
pond stream creek brook spring waterfall swamp marsh bog moor heath prairie steppe jungle wood grove bush hedge thicket
oak pine elm ash maple birch willow cedar palm beech poplar spruce larch holly ivy fern moss lily rose tulip
daisy poppy violin viola cello piano organ flute trumpet drum bell harp guitar banjo fiddle horn whistle song melody tune
poem story novel letter page chapter verse rhyme riddle puzzle game toy doll kite ball top card dice chess prize
crown throne sword shield spear arrow bow armor helmet banner flag ribbon button needle thread cloth coat cloak hat cap
boot shoe glove scarf belt ring necklace jewel gem coin purse wallet basket bucket barrel bottle cup bowl plate spoon
fork knife kettle pot pan oven stove lamp candle lantern torch match flame spark ember smoke fire cloud rain snow
storm thunder lightning wind breeze frost mist fog dew rainbow sun moon star comet planet sky dawn morning noon evening
night midnight summer winter autumn season month week hour minute moment clock watch calendar map compass anchor sail mast rudder
oar boat ship ferry raft canoe barge yacht wagon cart carriage sled train engine wheel axle lever pulley hammer
anvil saw axe drill chisel nail screw bolt rope chain hook net trap cage nest hive den burrow stable kennel
apple pear plum peach cherry grape melon lemon lime fig olive berry nut almond walnut chestnut acorn seed root
stem leaf branch trunk bark petal blossom bud thorn vine grain wheat barley rye oat corn rice bean pea carrot
onion garlic potato tomato pepper cabbage lettuce spinach pumpkin mushroom bread cake pie biscuit cookie pastry butter cheese cream milk
honey sugar salt spice ginger mint basil thyme sage tea coffee cocoa juice soup stew sauce salad feast supper dinner
lunch breakfast picnic party dance ballet opera theater stage actor singer dancer painter sculptor poet writer author editor printer baker
butcher farmer hunter fisher sailor captain pilot driver soldier knight king queen prince duke baron earl bishop monk nun priest
judge lawyer doctor nurse teacher scholar student pupil tailor weaver potter smith mason carpenter miner porter merchant trader banker clerk
guide scout ranger warden keeper guard hero legend dragon phoenix unicorn fairy elf dwarf troll ghost spirit angel wizard
mirror feather pillow blanket carpet curtain ladle saucer napkin towel broom brush comb razor scissor parcel stamp
`
