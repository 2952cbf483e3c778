SPDX-License-Identifier: Apache-2.0

How threads wait for a resilient lock, and how they leave when the wait ends in an error.

Each action is at most one access to shared memory: a load, a store, or a read-modify-write of the
lock's word or of one node's word. They are sequentially consistent. What is modelled, what is not,
and which function takes which steps: README.md beside this file.

--------------------------- MODULE resilient_lock ---------------------------
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Threads,         \* model values
  Attempts,        \* acquisitions that each thread tries; 0: without end
  NodesPerThread,  \* 0: every waiter that would queue goes without a node
  CanStick,        \* TRUE: an owner may keep the lock for ever
  Fault,           \* "none", or the name of a planted fault; see Faults
  none             \* model value: no node

ASSUME /\ Attempts \in Nat /\ NodesPerThread \in Nat /\ CanStick \in BOOLEAN
       /\ Cardinality(Threads) > 0

Faults == {"none",
  "lone_head_waits",      \* a head that leaves waits for a successor and never resets the tail
  "tail_stored",          \* the tail is reset by a store after the load, not by a compare-exchange
  "leaver_keeps_place",   \* a head that leaves passes its place to nobody
  "cancelled_granted",    \* a cancelled node is granted as if somebody waited there
  "pending_left",         \* a pending waiter that gives up leaves its bit behind
  "freed_unlinked",       \* a node is freed although the one behind has not linked
  "pending_jumps_queue",  \* a pending bit is kept although there is a queue
  "late_cancel_leaves",   \* a waiter that gives up leaves although it was granted before
  "looks_then_marks",     \* `passed` is set by a store after a look for a successor
  "expired_enters"}       \* a waiter takes the signal to leave for the lock
ASSUME Fault \in Faults

Nodes == Threads \X (1 .. NodesPerThread)
Free == [in_use |-> FALSE, granted |-> FALSE, expired |-> FALSE, cancelled |-> FALSE,
         passed |-> FALSE, next |-> none]
Claimed == [Free EXCEPT !.in_use = TRUE]

VARIABLES
  word,   \* the lock: owned, pending, tail
  node,   \* the words of all nodes
  pc,     \* what each thread does next
  left,   \* attempts that each thread has left
  mine,   \* the node that a thread waits on or is the head with
  at,     \* the node ahead, to be linked or freed; while passing: the node that is passed from
  behind, \* while passing: the node behind that
  signal, \* while passing: what the one behind is told
  result  \* of the attempt, as soon as it is certain

vars == <<word, node, pc, left, mine, at, behind, signal, result>>
locals == <<left, mine, at, behind, signal, result>>

HeadSteps == {"head", "sole", "share"}
PassSteps == {"pass", "reset", "free", "mark", "store_mark", "unhook", "grant", "successor"}
Steps == {"idle", "claim", "take_back", "pending", "take", "abandon", "node", "enqueue", "link",
          "adopt", "wait", "cancel", "drop", "tas", "tas_take", "inside", "stuck"}
         \cup HeadSteps \cup PassSteps

TypeOK ==
  /\ word \in [owned : BOOLEAN, pending : BOOLEAN, tail : Nodes \cup {none}]
  /\ node \in [Nodes -> [in_use : BOOLEAN, granted : BOOLEAN, expired : BOOLEAN,
                         cancelled : BOOLEAN, passed : BOOLEAN, next : Nodes \cup {none}]]
  /\ pc \in [Threads -> Steps]
  /\ left \in [Threads -> 0 .. Attempts]
  /\ mine \in [Threads -> Nodes \cup {none}]
  /\ at \in [Threads -> Nodes \cup {none}]
  /\ behind \in [Threads -> Nodes \cup {none}]
  /\ signal \in [Threads -> {"none", "granted", "expired"}]
  /\ result \in [Threads -> {"none", "acquired", "error"}]

Init ==
  /\ word = [owned |-> FALSE, pending |-> FALSE, tail |-> none]
  /\ node = [n \in Nodes |-> Free]
  /\ pc = [t \in Threads |-> "idle"]
  /\ left = [t \in Threads |-> Attempts]
  /\ mine = [t \in Threads |-> none]
  /\ at = [t \in Threads |-> none]
  /\ behind = [t \in Threads |-> none]
  /\ signal = [t \in Threads |-> "none"]
  /\ result = [t \in Threads |-> "none"]

(* Parts of actions. *)

Go(t, step) == pc' = [pc EXCEPT ![t] = step]
Set(f, t, value) == [f EXCEPT ![t] = value]
Unused == word.owned = FALSE /\ word.pending = FALSE /\ word.tail = none

\* lock() returns what result says.
Return(t, outcome) ==
  /\ Go(t, IF outcome = "acquired" THEN "inside" ELSE "idle")
  /\ result' = Set(result, t, IF outcome = "acquired" THEN "acquired" ELSE "none")
  /\ mine' = Set(mine, t, none)
  /\ at' = Set(at, t, none)
  /\ behind' = Set(behind, t, none)
  /\ signal' = Set(signal, t, "none")
  /\ UNCHANGED left

\* PASS(mine, s), and then lock() returns the outcome.
BeginPass(t, s, outcome) ==
  /\ Go(t, "pass")
  /\ at' = Set(at, t, mine[t])
  /\ mine' = Set(mine, t, none)
  /\ signal' = Set(signal, t, s)
  /\ result' = Set(result, t, outcome)
  /\ UNCHANGED <<behind, left>>

(* The fast path and the pending waiter. *)

\* Compare-exchange 0 -> owned, which tells what it found.
Fast(t) ==
  /\ pc[t] = "idle"
  /\ Attempts = 0 \/ left[t] > 0
  /\ left' = IF Attempts = 0 THEN left ELSE Set(left, t, left[t] - 1)
  /\ IF Unused
     THEN /\ word' = [word EXCEPT !.owned = TRUE]
          /\ result' = Set(result, t, "acquired")
          /\ Go(t, "inside")
     ELSE /\ Go(t, IF word.pending \/ word.tail # none THEN "node" ELSE "claim")
          /\ UNCHANGED <<word, result>>
  /\ UNCHANGED <<node, mine, at, behind, signal>>

ClaimPending(t) ==
  /\ pc[t] = "claim"
  /\ word' = [word EXCEPT !.pending = TRUE]
  /\ Go(t, IF word.pending THEN "node"
           ELSE IF word.tail = none \/ Fault = "pending_jumps_queue" THEN "pending"
           ELSE "take_back")
  /\ UNCHANGED <<node, locals>>

TakeBack(t) ==
  /\ pc[t] = "take_back"
  /\ word' = [word EXCEPT !.pending = FALSE]
  /\ Go(t, "node")
  /\ UNCHANGED <<node, locals>>

PendingSeesFree(t) ==
  /\ pc[t] = "pending"
  /\ ~word.owned
  /\ Go(t, "take")
  /\ UNCHANGED <<word, node, locals>>

\* word += owned - pending
Take(t) ==
  /\ pc[t] = "take"
  /\ word' = [word EXCEPT !.owned = TRUE, !.pending = FALSE]
  /\ UNCHANGED node
  /\ Return(t, "acquired")

PendingGivesUp(t) ==
  /\ pc[t] = "pending"
  /\ Go(t, "abandon")
  /\ result' = Set(result, t, "error")
  /\ UNCHANGED <<word, node, left, mine, at, behind, signal>>

Abandon(t) ==
  /\ pc[t] = "abandon"
  /\ word' = IF Fault = "pending_left" THEN word ELSE [word EXCEPT !.pending = FALSE]
  /\ UNCHANGED node
  /\ Return(t, "error")

(* The queue. *)

FreeNodes(t) == {k \in 1 .. NodesPerThread : node[<<t, k>>] = Free}

ClaimNode(t) ==
  /\ pc[t] = "node"
  /\ FreeNodes(t) # {}
  /\ LET n == <<t, CHOOSE k \in FreeNodes(t) : \A j \in FreeNodes(t) : k <= j>>
     IN /\ node' = [node EXCEPT ![n] = Claimed]
        /\ mine' = Set(mine, t, n)
  /\ Go(t, "enqueue")
  /\ UNCHANGED <<word, left, at, behind, signal, result>>

\* The loop of compare-exchanges, when it succeeds.
Enqueue(t) ==
  /\ pc[t] = "enqueue"
  /\ word' = [word EXCEPT !.tail = mine[t]]
  /\ at' = Set(at, t, word.tail)
  /\ Go(t, IF word.tail = none THEN "head" ELSE "link")
  /\ UNCHANGED <<node, left, mine, behind, signal, result>>

Link(t) ==
  /\ pc[t] = "link"
  /\ node' = [node EXCEPT ![at[t]].next = mine[t]]
  /\ IF node[at[t]].passed
     THEN /\ Go(t, "adopt")
          /\ UNCHANGED at
     ELSE /\ Go(t, "wait")
          /\ at' = Set(at, t, none)
  /\ UNCHANGED <<word, left, mine, behind, signal, result>>

\* The one ahead has left, and the head's place lay in its node.
Adopt(t) ==
  /\ pc[t] = "adopt"
  /\ node' = [node EXCEPT ![at[t]] = Free]
  /\ at' = Set(at, t, none)
  /\ Go(t, "head")
  /\ UNCHANGED <<word, left, mine, behind, signal, result>>

WaitSeesSignal(t) ==
  /\ pc[t] = "wait"
  /\ node[mine[t]].granted \/ node[mine[t]].expired
  /\ UNCHANGED <<word, node>>
  /\ IF node[mine[t]].expired
     THEN IF Fault = "expired_enters"
          THEN /\ Go(t, "inside")
               /\ result' = Set(result, t, "error")
               /\ UNCHANGED <<left, mine, at, behind, signal>>
          ELSE BeginPass(t, "expired", "error")
     ELSE Go(t, "head") /\ UNCHANGED locals

WaitGivesUp(t) ==
  /\ pc[t] = "wait"
  /\ Go(t, "cancel")
  /\ UNCHANGED <<word, node, locals>>

Cancel(t) ==
  /\ pc[t] = "cancel"
  /\ node' = [node EXCEPT ![mine[t]].cancelled = TRUE]
  /\ UNCHANGED word
  /\ IF node[mine[t]].expired THEN BeginPass(t, "expired", "error")
     ELSE IF node[mine[t]].granted /\ Fault # "late_cancel_leaves"
     THEN Go(t, "head") /\ UNCHANGED locals
     ELSE Return(t, "error")

(* The head of the queue. *)

HeadSeesFree(t) ==
  /\ pc[t] = "head"
  /\ ~word.owned
  /\ ~word.pending
  /\ Go(t, IF word.tail = mine[t] THEN "sole" ELSE "share")
  /\ UNCHANGED <<word, node, locals>>

\* Compare-exchange; what it must find is what HeadSeesFree saw.
Sole(t) ==
  /\ pc[t] = "sole"
  /\ IF word = [owned |-> FALSE, pending |-> FALSE, tail |-> mine[t]]
     THEN /\ word' = [owned |-> TRUE, pending |-> FALSE, tail |-> none]
          /\ result' = Set(result, t, "acquired")
          /\ Go(t, "drop")
     ELSE /\ Go(t, "head")
          /\ UNCHANGED <<word, result>>
  /\ UNCHANGED <<node, left, mine, at, behind, signal>>

Drop(t) ==
  /\ pc[t] = "drop"
  /\ node' = [node EXCEPT ![mine[t]] = Free]
  /\ UNCHANGED word
  /\ Return(t, "acquired")

\* fetch_or(owned)
Share(t) ==
  /\ pc[t] = "share"
  /\ word' = [word EXCEPT !.owned = TRUE]
  /\ UNCHANGED node
  /\ BeginPass(t, "granted", "acquired")

HeadTimesOut(t) ==
  /\ pc[t] = "head"
  /\ UNCHANGED <<word, node>>
  /\ IF Fault = "leaver_keeps_place" THEN Return(t, "error")
     ELSE BeginPass(t, "expired", "error")

\* A deadlock, a dead owner, a deadline of its own.
HeadGivesUp(t) ==
  /\ pc[t] = "head"
  /\ UNCHANGED <<word, node>>
  /\ CASE Fault = "leaver_keeps_place" -> Return(t, "error")
       [] Fault = "lone_head_waits" ->
            /\ Go(t, "successor")
            /\ at' = Set(at, t, mine[t])
            /\ mine' = Set(mine, t, none)
            /\ signal' = Set(signal, t, "granted")
            /\ result' = Set(result, t, "error")
            /\ UNCHANGED <<left, behind>>
       [] OTHER -> BeginPass(t, "granted", "error")

(* PASS. *)

Pass(t) ==
  /\ pc[t] = "pass"
  /\ Go(t, IF word.tail = at[t] THEN "reset" ELSE "mark")
  /\ UNCHANGED <<word, node, locals>>

\* The loop of compare-exchanges: ends as the tail is reset or is another one's.
Reset(t) ==
  /\ pc[t] = "reset"
  /\ IF word.tail = at[t] \/ Fault = "tail_stored"
     THEN word' = [word EXCEPT !.tail = none] /\ Go(t, "free")
     ELSE UNCHANGED word /\ Go(t, "mark")
  /\ UNCHANGED <<node, locals>>

FreeLast(t) ==
  /\ pc[t] = "free"
  /\ node' = [node EXCEPT ![at[t]] = Free]
  /\ UNCHANGED word
  /\ Return(t, result[t])

Mark(t) ==
  /\ pc[t] = "mark"
  /\ UNCHANGED word
  /\ IF node[at[t]].next # none
     THEN /\ node' = [node EXCEPT ![at[t]].passed = TRUE]
          /\ behind' = Set(behind, t, node[at[t]].next)
          /\ Go(t, "unhook")
          /\ UNCHANGED <<left, mine, at, signal, result>>
     ELSE CASE Fault = "freed_unlinked" ->
                 Go(t, "free") /\ UNCHANGED <<node, locals>>
            [] Fault = "looks_then_marks" ->
                 Go(t, "store_mark") /\ UNCHANGED <<node, locals>>
            [] OTHER ->
                 /\ node' = [node EXCEPT ![at[t]].passed = TRUE]
                 /\ Return(t, result[t])

StoreMark(t) ==
  /\ pc[t] = "store_mark"
  /\ node' = [node EXCEPT ![at[t]].passed = TRUE]
  /\ UNCHANGED word
  /\ Return(t, result[t])

Successor(t) ==
  /\ pc[t] = "successor"
  /\ node[at[t]].next # none
  /\ behind' = Set(behind, t, node[at[t]].next)
  /\ Go(t, "unhook")
  /\ UNCHANGED <<word, node, left, mine, at, signal, result>>

Unhook(t) ==
  /\ pc[t] = "unhook"
  /\ node' = [node EXCEPT ![at[t]] = Free]
  /\ at' = Set(at, t, none)
  /\ Go(t, "grant")
  /\ UNCHANGED <<word, left, mine, behind, signal, result>>

Grant(t) ==
  /\ pc[t] = "grant"
  /\ node' = [node EXCEPT ![behind[t]].granted = TRUE,
                          ![behind[t]].expired = @ \/ signal[t] = "expired"]
  /\ UNCHANGED word
  /\ IF node[behind[t]].cancelled /\ Fault # "cancelled_granted"
     THEN /\ Go(t, "pass")
          /\ at' = Set(at, t, behind[t])
          /\ behind' = Set(behind, t, none)
          /\ UNCHANGED <<left, mine, signal, result>>
     ELSE Return(t, result[t])

(* Without a node: test-and-set. *)

FindsNoNode(t) ==
  /\ pc[t] = "node"
  /\ FreeNodes(t) = {}
  /\ Go(t, "tas")
  /\ UNCHANGED <<word, node, locals>>

TasSeesFree(t) ==
  /\ pc[t] = "tas"
  /\ Unused
  /\ Go(t, "tas_take")
  /\ UNCHANGED <<word, node, locals>>

TasTake(t) ==
  /\ pc[t] = "tas_take"
  /\ UNCHANGED node
  /\ IF Unused
     THEN word' = [word EXCEPT !.owned = TRUE] /\ Return(t, "acquired")
     ELSE UNCHANGED word /\ Go(t, "tas") /\ UNCHANGED locals

TasGivesUp(t) ==
  /\ pc[t] = "tas"
  /\ UNCHANGED <<word, node>>
  /\ Return(t, "error")

(* The owner. *)

\* word -= owned
Unlock(t) ==
  /\ pc[t] = "inside"
  /\ word' = [word EXCEPT !.owned = FALSE]
  /\ Go(t, "idle")
  /\ result' = Set(result, t, "none")
  /\ UNCHANGED <<node, left, mine, at, behind, signal>>

Stick(t) ==
  /\ CanStick
  /\ pc[t] = "inside"
  /\ Go(t, "stuck")
  /\ UNCHANGED <<word, node, locals>>

-----------------------------------------------------------------------------
\* What a thread does by itself, and goes on doing as long as it can.
Step(t) ==
  \/ Fast(t) \/ ClaimPending(t) \/ TakeBack(t) \/ PendingSeesFree(t) \/ Take(t) \/ Abandon(t)
  \/ ClaimNode(t) \/ Enqueue(t) \/ Link(t) \/ Adopt(t) \/ WaitSeesSignal(t) \/ Cancel(t)
  \/ HeadSeesFree(t) \/ Sole(t) \/ Drop(t) \/ Share(t)
  \/ Pass(t) \/ Reset(t) \/ FreeLast(t) \/ Mark(t) \/ StoreMark(t) \/ Successor(t) \/ Unhook(t)
  \/ Grant(t)
  \/ FindsNoNode(t) \/ TasSeesFree(t) \/ TasTake(t) \/ Unlock(t)

\* What may happen to a thread, or never.
Exit(t) ==
  \/ PendingGivesUp(t) \/ WaitGivesUp(t) \/ HeadTimesOut(t) \/ HeadGivesUp(t) \/ TasGivesUp(t)
  \/ Stick(t)

AllAtRest == \A t \in Threads : pc[t] \in {"idle", "stuck"}

Finished ==
  /\ \A t \in Threads : pc[t] = "stuck" \/ (pc[t] = "idle" /\ Attempts > 0 /\ left[t] = 0)
  /\ UNCHANGED vars

Next == (\E t \in Threads : Step(t) \/ Exit(t)) \/ Finished

Spec == Init /\ [][Next]_vars

\* Owners unlock, and no wait needs an exit to come to an end.
FairSpec == Spec /\ \A t \in Threads : WF_vars(Step(t))

\* For attempts without end: only a waiter without a node may be overtaken for ever, and it has
\* its time-out.
EndlessSpec == FairSpec /\ \A t \in Threads : SF_vars(TasGivesUp(t))

\* An owner may keep the lock, and time-outs happen. Those who wait in the queue have none.
StuckSpec ==
  /\ FairSpec
  /\ \A t \in Threads :
       WF_vars(PendingGivesUp(t)) /\ WF_vars(HeadTimesOut(t)) /\ WF_vars(TasGivesUp(t))

-----------------------------------------------------------------------------
Holders == {t \in Threads : result[t] = "acquired"}

MutualExclusion ==
  /\ Cardinality({t \in Threads : pc[t] \in {"inside", "stuck"}}) <= 1
  /\ Cardinality(Holders) <= 1

\* Whoever gets an error does not have the lock, and whoever has it has no error.
ErrorsStayOut ==
  /\ \A t \in Threads : pc[t] \in {"inside", "stuck"} => result[t] = "acquired"
  /\ word.owned <=> Holders # {}

\* The head's place: with a thread that is the head or passes the place on, in a node that was
\* passed before the one behind linked, or in a node whose thread has not seen its signal.
Tokens ==
  Cardinality({t \in Threads : pc[t] \in HeadSteps \cup (PassSteps \ {"free"}) \cup {"adopt"}})
  + Cardinality({n \in Nodes : node[n].passed /\ node[n].next = none})
  + Cardinality({n \in Nodes : node[n].granted /\ ~node[n].cancelled
                               /\ \E t \in Threads : mine[t] = n /\ pc[t] \in {"wait", "cancel"}})

HeadToken == Tokens = IF word.tail = none THEN 0 ELSE 1

References ==
  ({word.tail} \cup {node[n].next : n \in Nodes} \cup {mine[t] : t \in Threads}
   \cup {at[t] : t \in Threads} \cup {behind[t] : t \in Threads}) \ {none}

NoUseAfterFree == \A n \in References : node[n].in_use

\* What a step takes for granted when it adds, subtracts or stores.
StepsFit ==
  \A t \in Threads :
    /\ pc[t] \in {"take_back", "pending", "take", "abandon"} => word.pending
    /\ pc[t] \in {"take", "share"} => ~word.owned
    /\ pc[t] \in {"inside", "stuck"} => word.owned
    /\ pc[t] = "link" => node[at[t]].next = none
    /\ pc[t] \in HeadSteps => word.tail # none

\* Whenever nobody is in lock() or unlock().
NoOrphan ==
  AllAtRest =>
    /\ ~word.pending
    /\ word.tail = none
    /\ word.owned <=> \E t \in Threads : pc[t] = "stuck"
    /\ \A n \in Nodes : node[n] = Free

EveryWaitEnds ==
  \A t \in Threads : pc[t] \notin {"idle", "inside", "stuck"} ~> pc[t] \in {"idle", "inside", "stuck"}

\* For attempts without end. A thread that passes goes on as long as there are cancelled nodes, and
\* somebody who comes again and gives up again, each time before it gets there, can keep it at that.
WaitsEndUnlessCancelledForEver ==
  <>[][\A t \in Threads : ~WaitGivesUp(t)]_vars => EveryWaitEnds

Symmetry == Permutations(Threads)
=============================================================================
