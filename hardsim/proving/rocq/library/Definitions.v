(** Transformers with softmax attention over the real numbers, temporal logic with counting, and what it means that a
    network computes a formula. To understand the theorem about a network, nothing else has to be read. *)
From Coq Require Import Reals List Bool Arith ZArith QArith Qreals. Import ListNotations. Open Scope R_scope.
(** * Words. Positions are 1, ..., n. An atom is a number: a symbol of an alphabet, or a proposition where symbols are
    sets of propositions. Each symbol of a word says which atoms hold. *)
Definition symbol := nat -> bool. Definition letter (c : nat) : symbol := Nat.eqb c.
Definition symbol_at (u : list symbol) (i : nat) : symbol := nth (i - 1) u (fun _ => false).
Definition positions (first last : nat) : list nat := seq first (last + 1 - first).
Definition some (first last : nat) (P : nat -> bool) : bool := existsb P (positions first last).
Definition every (first last : nat) (P : nat -> bool) : bool := forallb P (positions first last).
(** * Numerical predicates: conditions on an integer [X] (a position, or the value of a term) and the length of the
    word, [Len]. [Div] and [Mod] round down; a / 0 is 0, and a mod 0 is a. *)
Inductive integer := X | Len | Const (z : Z)
| Add (a b : integer) | Sub (a b : integer) | Mul (a b : integer) | Div (a b : integer) | Mod (a b : integer).
Inductive condition := Le (a b : integer) | Eq (a b : integer) | Square (a : integer) | Prime (a : integer)
| PowerOf2 (a : integer) | Both (c d : condition) | Either (c d : condition) | Negated (c : condition).
Fixpoint integer_value (x n : Z) (a : integer) : Z :=
  let value := integer_value x n in match a with
  | X => x | Len => n | Const z => z | Add a b => value a + value b | Sub a b => value a - value b
  | Mul a b => value a * value b | Div a b => value a / value b | Mod a b => value a mod value b
  end%Z.
Definition up_to (z : Z) : list Z := map Z.of_nat (seq 0 (Z.to_nat (z + 1))).                     (* 0, 1, ..., z *)
Fixpoint condition_holds (x n : Z) (c : condition) : bool :=
  let value := integer_value x n in let holds := condition_holds x n in match c with
  | Le a b => (value a <=? value b)%Z | Eq a b => (value a =? value b)%Z
  | Square a => existsb (fun k => k * k =? value a)%Z (up_to (value a))
  | Prime a => (2 <=? value a)%Z && forallb (fun d => (d <? 2) || negb (value a mod d =? 0))%Z (up_to (value a - 1))
  | PowerOf2 a => existsb (fun k => 2 ^ k =? value a)%Z (up_to (value a))
  | Both c d => holds c && holds d | Either c d => holds c || holds d | Negated c => negb (holds c)
  end.

(** * Formulas: linear temporal logic with past, future and counts of positions j <= i, of j >= i, and of all. *)
Inductive formula := Truth (b : bool) | Atom (a : nat) | First | Last | Holds (c : condition) (t : term)
| Not (f : formula) | And (f g : formula) | Or (f g : formula) | Xor (f g : formula) | Implies (f g : formula)
| Equivalent (f g : formula) | Yesterday (f : formula) | WeakYesterday (f : formula) | Once (f : formula)
| Historically (f : formula) | Since (f g : formula) | Trigger (f g : formula) | Next (f : formula)
| WeakNext (f : formula) | Eventually (f : formula) | Always (f : formula) | Until (f g : formula)
| Release (f g : formula) | WeakUntil (f g : formula) | StrongRelease (f g : formula)
| AtMost (s t : term) | Equal (s t : term)
with term := Constant (z : Z) | Position | Length | CountLeft (f : formula) | CountRight (f : formula)
| CountAll (f : formula) | Plus (s t : term) | Times (z : Z) (t : term).
Section Semantics. Variables (n : nat) (w : nat -> symbol).           (* the length, and the symbol at each position *)
Definition number (first last : nat) (P : nat -> bool) : Z := Z.of_nat (length (filter P (positions first last))).
Fixpoint holds (f : formula) (i : nat) : bool :=
  match f with
  | Truth b => b | Atom a => w i a | First => i =? 1 | Last => i =? n
  | Holds c t => condition_holds (value t i) (Z.of_nat n) c
  | Not f => negb (holds f i) | And f g => holds f i && holds g i | Or f g => holds f i || holds g i
  | Xor f g => xorb (holds f i) (holds g i) | Implies f g => negb (holds f i) || holds g i
  | Equivalent f g => eqb (holds f i) (holds g i)
  | Yesterday f => (1 <? i) && holds f (i - 1) | WeakYesterday f => (i =? 1) || holds f (i - 1)
  | Next f => (i <? n) && holds f (i + 1) | WeakNext f => (i =? n) || holds f (i + 1)
  | Once f => some 1 i (holds f) | Historically f => every 1 i (holds f)
  | Eventually f => some i n (holds f) | Always f => every i n (holds f)
  | Since f g => some 1 i (fun j => holds g j && every (j + 1) i (holds f))
  | Trigger f g => every 1 i (fun j => holds g j || some (j + 1) i (holds f))
  | Until f g => some i n (fun j => holds g j && every i (j - 1) (holds f))
  | Release f g => every i n (fun j => holds g j || some i (j - 1) (holds f))
  | WeakUntil f g => every i n (holds f) || some i n (fun j => holds g j && every i (j - 1) (holds f))
  | StrongRelease f g => some i n (fun j => holds f j && every i j (holds g))
  | AtMost s t => (value s i <=? value t i)%Z | Equal s t => (value s i =? value t i)%Z
  end
with value (t : term) (i : nat) : Z :=
  match t with
  | Constant z => z | Position => Z.of_nat i | Length => Z.of_nat n | CountLeft f => number 1 i (holds f)
  | CountRight f => number i n (holds f) | CountAll f => number 1 n (holds f)
  | Plus s t => value s i + value t i | Times z t => z * value t i end%Z.
End Semantics.

(** * Networks. A matrix is the list of its entries (row, column, number); what is not listed is 0. An encoding is
    (-1)^i or 1, times a power of i, times a power of n; or 1 where a condition on i and n holds, and 0 elsewhere. *)
Definition matrix := list (nat * nat * Q). Definition vector := nat -> R.
Definition sum (L : list nat) (f : nat -> R) : R := fold_right (fun j s => f j + s) 0 L.
Definition entry (m : matrix) (r c : nat) : R :=
  fold_right (fun '(r', c', q) s => (if (r' =? r) && (c' =? c) then Q2R q else 0) + s) 0 m.
Definition times (m : matrix) (x : vector) : vector := fun r =>
  fold_right (fun '(r', c, q) s => (if r' =? r then Q2R q * x c else 0) + s) 0 m.
Record monomial := Monomial { alternates : bool; power_of_i : Z; power_of_n : Z }.
Definition monomial_value (n i : nat) (m : monomial) : R :=
  (if alternates m then (-1) ^ i else 1) * powerRZ (INR i) (power_of_i m) * powerRZ (INR n) (power_of_n m).
Inductive encoding := Number (m : monomial) | Indicator (c : condition).
Definition encoding_value (n i : nat) (e : encoding) : R :=
  match e with Number m => monomial_value n i m
  | Indicator c => if condition_holds (Z.of_nat i) (Z.of_nat n) c then 1 else 0 end.
Inductive mask := Future | Past | Unmasked.       (* future-masked: only j <= i is seen; past-masked: only j >= i *)
Definition visible (m : mask) (n i : nat) : list nat :=
  match m with Future => positions 1 i | Past => positions i n | Unmasked => positions 1 n end.
Record head := Head { head_mask : mask; head_rows : nat; w_q : matrix; w_k : matrix; w_v : matrix }.
Record layer := Layer { heads : list head; w_1 : matrix; b_1 : list Q; w_2 : matrix; b_2 : list Q }.
(** Row a of the embedding is added where atom a holds; the row behind the last atom is added everywhere. *)
Record network := Network { atoms : nat; over_letters : bool; embedding : matrix; encodings : list (nat * encoding);
  layers : list layer; output : nat; temperature : monomial }.
Section Run. Variables (N : network) (u : list symbol). Let n := length u.
Definition input (i : nat) : vector := fun k =>
  sum (seq 0 (atoms N)) (fun a => if symbol_at u i a then entry (embedding N) a k else 0)
  + entry (embedding N) (atoms N) k
  + fold_right (fun '(c, e) s => (if c =? k then encoding_value n i e else 0) + s) 0 (encodings N).
Definition score (h : head) (xi xj : vector) : R :=
  sum (seq 0 (head_rows h)) (fun r => times (w_q h) xi r * times (w_k h) xj r).
Definition softmax_mean (L : list nat) (logit v : nat -> R) : R :=
  sum L (fun j => exp (logit j) * v j) / sum L (fun j => exp (logit j)).
Definition attention (x : nat -> vector) (h : head) (i : nat) : vector := fun k =>
  softmax_mean (visible (head_mask h) n i)
    (fun j => score h (x i) (x j) / monomial_value n i (temperature N)) (fun j => times (w_v h) (x j) k).
Definition after_attention (y : layer) (x : nat -> vector) (i : nat) : vector := fun k =>
  x i k + fold_right (fun h s => attention x h i k + s) 0 (heads y).
Definition feed_forward (y : layer) (c : vector) : vector := fun k =>
  c k + (times (w_2 y) (fun r => Rmax (times (w_1 y) c r + Q2R (nth r (b_1 y) 0%Q)) 0) k + Q2R (nth k (b_2 y) 0%Q)).
Definition run_layer (x : nat -> vector) (y : layer) : nat -> vector := fun i => feed_forward y (after_attention y x i).
Definition network_output : R := fold_left run_layer (layers N) input n (output N).
End Run.

(** * The claim: on every word that is not empty, the output at the last position is exactly 1 if the formula holds at
    the position where it is read, and exactly 0 if not. *)
Definition word_of (N : network) (u : list symbol) : Prop :=
  u <> [] /\ (over_letters N = true -> Forall (fun s => exists c, (c < atoms N)%nat /\ s = letter c) u).
Inductive reading := AtFirst | AtLast.
Definition computes (N : network) (r : reading) (f : formula) : Prop := forall u, word_of N u ->
  let i := match r with AtFirst => 1%nat | AtLast => length u end in
  network_output N u = if holds (length u) (symbol_at u) f i then 1 else 0.
