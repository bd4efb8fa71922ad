// Package rollout is the coordinator between the policy's engine and its trainer: it admits tasks, keeps their groups
// of episodes running across weight versions, ships batches under a staleness bound and leases them to a trainer.
//
// It has two halves. Machine is a pure state machine: Apply takes an event, changes the state and says what to do next,
// without goroutine, clock, socket or randomness. Live is the runtime around it: it journals every event before it
// obeys what the event caused, so that a restart is a replay of the journal. Events are facts (a batch was formed of
// these groups), never requests (form a batch), so that a replay gives the same batches whatever later versions choose.
//
//	         Admit          Dispatch                       Lease            Ack
//	TaskAt ---------> group ---------> episodes --> ready ------> shipped ------> acknowledged
//	                                    |  infra failure: retried, siblings kept
//	                                    +--> given up / stale / too few valid / ... : discarded with its reason
//
// At every moment dispatched = acknowledged + discarded(reason) + buffered + leased + in flight, in episodes.
package rollout
