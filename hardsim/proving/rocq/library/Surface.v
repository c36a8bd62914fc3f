(** From the formula to its literal in the table of nodes.

    The constructors below simplify as hardsim's desugaring does: they fold constants, merge functions of the symbol,
    flatten conjunctions and bring linear inequalities and congruences into one form.  They build no node: what is left
    after the simplification is searched in the table.  The nodes of the table go through the same constructors first,
    so two nodes that the simplification does not distinguish are one node for the search (the first of them). *)
From Coq Require Import List Bool Arith ZArith NArith Lia.
Require Import Definitions Nodes.
Import ListNotations.
Local Open Scope nat_scope.

(** * Equality and order of parts of nodes *)
Fixpoint same_list {A} (same : A -> A -> bool) (a b : list A) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => same x y && same_list same a b | _, _ => false end.
Definition same_term (a b : Z * count) : bool := Z.eqb (fst a) (fst b) && count_eqb (snd a) (snd b).
Definition same_node (d e : node) : bool :=
  match d, e with
  | NLetters s, NLetters t => same_list Nat.eqb s t
  | NFirst, NFirst | NLast, NLast | NEven, NEven => true
  | NHolds c, NHolds c' => condition_eqb c c'
  | NXor a b, NXor a' b' | NSince a b, NSince a' b' | NUntil a b, NUntil a' b' => lit_eqb a a' && lit_eqb b b'
  | NPrev a, NPrev b | NNext a, NNext b => lit_eqb a b
  | NAtLeast ts c, NAtLeast ts' c' => same_list same_term ts ts' && Z.eqb c c'
  | NNumeric c k, NNumeric c' k' => condition_eqb c c' && count_eqb k k'
  | _, _ => false                                         (* conjunctions are compared by their forms *)
  end.
Definition lit_before (a b : lit) : bool := (fst a <? fst b) || (fst a =? fst b) && negb (snd a) && snd b.
Definition side_number (s : side) : nat := match s with Everywhere => 0 | Before => 1 | After => 2 end.
Definition count_before (a b : count) : bool :=
  let (p, l) := a in let (q, k) := b in
  (side_number p <? side_number q) || (side_number p =? side_number q) && lit_before l k.
Definition negated_lit (l : lit) : lit := (fst l, negb (snd l)).
Fixpoint insert_lit (l : lit) (ls : list lit) : list lit :=
  match ls with
  | [] => [l]
  | a :: r => if lit_eqb l a then ls else if lit_before l a then l :: ls else a :: insert_lit l r
  end.
(** In a sorted list a literal and its negation are neighbours. *)
Fixpoint contradictory (ls : list lit) : bool :=
  match ls with a :: (b :: _) as r => lit_eqb (negated_lit a) b || contradictory r | _ => false end.

(** * Conditions, up to the way in which linear functions of x and n are written *)
Definition multiple (z : Z) (a : integer) : list integer :=
  if Z.eqb z 0 then [] else [if Z.eqb z 1 then a else Mul (Const z) a].
Fixpoint sum_of_integers (ls : list integer) : integer :=
  match ls with [] => Const 0 | [a] => a | a :: ls => Add a (sum_of_integers ls) end.
(** [s * x + t * n + o] *)
Definition affine_integer (s t o : Z) : integer :=
  sum_of_integers (multiple s X ++ multiple t Len ++ (if Z.eqb o 0 then [] else [Const o])).
Fixpoint affine_of (a : integer) : option (Z * Z * Z) :=
  match a with
  | X => Some (1, 0, 0)%Z
  | Len => Some (0, 1, 0)%Z
  | Const z => Some (0, 0, z)%Z
  | Add a b =>
      match affine_of a, affine_of b with
      | Some (s, t, o), Some (s', t', o') => Some (s + s', t + t', o + o')%Z | _, _ => None end
  | Sub a b =>
      match affine_of a, affine_of b with
      | Some (s, t, o), Some (s', t', o') => Some (s - s', t - t', o - o')%Z | _, _ => None end
  | Mul a b =>
      match affine_of a, affine_of b with
      | Some (s, t, o), Some (s', t', o') =>
          if Z.eqb s 0 && Z.eqb t 0 then Some (o * s', o * t', o * o')%Z
          else if Z.eqb s' 0 && Z.eqb t' 0 then Some (s * o', t * o', o * o')%Z else None
      | _, _ => None
      end
  | _ => None
  end.
Fixpoint normal_integer (a : integer) : integer :=
  match affine_of a with
  | Some (s, t, o) => affine_integer s t o
  | None =>
      match a with
      | Add a b => Add (normal_integer a) (normal_integer b) | Sub a b => Sub (normal_integer a) (normal_integer b)
      | Mul a b => Mul (normal_integer a) (normal_integer b) | Div a b => Div (normal_integer a) (normal_integer b)
      | Mod a b => Mod (normal_integer a) (normal_integer b) | a => a
      end
  end.
Fixpoint normal_condition (c : condition) : condition :=
  match c with
  | Le a b => Le (normal_integer a) (normal_integer b) | Eq a b => Eq (normal_integer a) (normal_integer b)
  | Square a => Square (normal_integer a) | Prime a => Prime (normal_integer a) | PowerOf2 a => PowerOf2
    (normal_integer a)
  | Both c d => Both (normal_condition c) (normal_condition d)
  | Either c d => Either (normal_condition c) (normal_condition d)
  | Negated c => Negated (normal_condition c)
  end.
(** [(s * x + t * n + o) mod m = r] as [(m, r, s, t, o)] *)
Definition remainder_of (c : condition) : option (Z * Z * Z * Z * Z) :=
  match c with
  | Eq (Mod a (Const m)) (Const r) =>
      match affine_of a with
      | Some (s, t, o) => if (0 <=? r)%Z && (r <? m)%Z then Some (m, r, s, t, o) else None
      | None => None
      end
  | _ => None
  end.
(** An equivalent condition or truth value. In a congruence the factors are reduced modulo m, and the constant is moved
    into the remainder. *)
Definition canonical (c : condition) : condition + bool :=
  match remainder_of c with
  | Some (m, r, s, t, o) =>
      let rest := ((r - o) mod m)%Z in
      if Z.eqb (s mod m) 0 && Z.eqb (t mod m) 0 then inr (Z.eqb rest 0)
      else inl (Eq (Mod (affine_integer (s mod m) (t mod m) 0) (Const m)) (Const rest))
  | None => inl (normal_condition c)
  end.

(** * Forms: a conjunction of a set of symbols and of literals of other nodes, or its negation *)
Definition form : Type := bool * (N * list lit).
(** An entry of the table: the form of a node, and the primitive node (or its negation) by which it is found. *)
Record indexed := Indexed { form_of_node : form; key : option (bool * node) }.
(** What a constructor returns: a form, or a primitive node (or its negation) that is to be searched. *)
Inductive outcome := Simplified (F : form) | Primitive (negated : bool) (d : node).
(** A linear term: multiples of counts, plus a constant. *)
Definition linear : Type := list (Z * count) * Z.
Definition map_option {A B} (f : A -> B) (o : option A) : option B :=
  match o with Some a => Some (f a) | None => None end.
Definition bind_option {A B} (f : A -> option B) (o : option A) : option B :=
  match o with Some a => f a | None => None end.

Section Forms.
Variable letters : nat.
(** Bit c of a set stands for the symbol c. Over propositions there is one bit: the constant true or false. *)
Definition width : nat := match letters with O => 1 | S _ => letters end.
Definition all_symbols : N := N.ones (N.of_nat width).
Definition symbol_set (s : list nat) : N := N.land all_symbols (fold_right (fun c m => N.setbit m (N.of_nat c)) 0%N s).
Definition symbols_form (m : N) : form := (false, (m, [])).
Definition constant_form (b : bool) : form := symbols_form (if b then all_symbols else 0%N).
Definition lit_form (l : lit) : form := (false, (all_symbols, [l])).
Definition same_form (F G : form) : bool :=
  let '(s, (m, ls)) := F in let '(s', (m', ls')) := G in eqb s s' && N.eqb m m' && same_list lit_eqb ls ls'.
Definition is_constant (b : bool) (F : form) : bool := same_form F (constant_form b).
Definition complement (m : N) : N := N.lxor m all_symbols.
Definition conjunction (m : N) (ls : list lit) : form :=
  if N.eqb m 0 || contradictory ls then constant_form false else (false, (m, ls)).
Definition negated_form (F : form) : form :=
  let '(s, (m, ls)) := F in
  match ls with
  | [] => (s, (complement m, []))
  | [l] => if N.eqb m all_symbols then (s, (m, [negated_lit l])) else (negb s, (m, ls))
  | _ => (negb s, (m, ls))
  end.

(** * Search in the table *)
Variable beyond : nat.                                    (* no node of the table has this number: it is false *)
Variable table : list indexed.
Fixpoint search (test : indexed -> option bool) (k : nat) (es : list indexed) : option lit :=
  match es with [] => None | e :: es => match test e with Some s => Some (k, s) | None => search test (S k) es end end.
Definition form_test (F : form) (e : indexed) : option bool :=
  let '(s, (m, ls)) := F in let '(s', (m', ls')) := form_of_node e in
  if same_list lit_eqb ls ls' then
    if N.eqb m m' then Some (xorb s s') else
    match ls with [] => if N.eqb m' (complement m) then Some (negb (xorb s s')) else None | _ => None end
  else None.
Definition key_test (d : node) (e : indexed) : option bool :=
  match key e with Some (s, d') => if same_node d d' then Some s else None | None => None end.
Definition single (F : form) : option lit :=
  match F with (s, (m, [l])) => if N.eqb m all_symbols then Some (fst l, xorb s (snd l)) else None | _ => None end.
Definition constant_lit (F : form) : option lit :=
  if is_constant true F then Some (beyond, true) else if is_constant false F then Some (beyond, false) else None.
(** The literal of a form. A constant always has one. *)
Definition resolve (F : form) : option lit :=
  match single F with
  | Some l => Some l
  | None => match search (form_test F) 0 table with Some l => Some l | None => constant_lit F end
  end.
Definition form_of_lit (l : lit) : option form :=
  match nth_error table (fst l) with
  | Some e => Some (if snd l then negated_form (form_of_node e) else form_of_node e)
  | None => None
  end.
Definition find_node (d : node) : option lit := search (key_test d) 0 table.
Definition finish (o : option outcome) : option form :=
  match o with
  | Some (Simplified F) => Some F
  | Some (Primitive s d) => match find_node d with Some (k, s') => Some (lit_form (k, xorb s s')) | None => None end
  | None => None
  end.

(** * Connectives *)
Definition conjuncts (F : form) : option (N * list lit) :=
  if fst F then map_option (fun l => (all_symbols, [l])) (resolve F) else Some (snd F).
(** A conjunction with a false operand is false, whatever the other one is. *)
Definition both (F G : option form) : option form :=
  match bind_option conjuncts F, bind_option conjuncts G with
  | Some (m, ls), Some (m', ls') => Some (conjunction (N.land m m') (fold_right insert_lit ls' ls))
  | Some (m, _), None | None, Some (m, _) => if N.eqb m 0 then Some (constant_form false) else None
  | None, None => None
  end.
Definition negation : option form -> option form := map_option negated_form.
Definition either (F G : option form) : option form := negation (both (negation F) (negation G)).
Definition symbols_of (F : form) : option N :=
  match F with (s, (m, [])) => Some (if s then complement m else m) | _ => None end.
Definition make_xor (F G : form) : option outcome :=
  match symbols_of F, symbols_of G with
  | Some a, Some b => Some (Simplified (symbols_form (N.lxor a b)))
  | _, _ =>
    if is_constant true F then Some (Simplified (negated_form G)) else
    if is_constant false F then Some (Simplified G) else
    if is_constant true G then Some (Simplified (negated_form F)) else
    if is_constant false G then Some (Simplified F) else
    match resolve F, resolve G with
    | Some (j, s), Some (k, t) =>
        if j =? k then Some (Simplified (constant_form (xorb s t)))
        else Some (Primitive (xorb s t) (NXor (Nat.min j k, false) (Nat.max j k, false)))
    | _, _ => None
    end
  end.

(** * Temporal operators; [back] for the past *)
Definition make_step (back : bool) (F : form) : option outcome :=
  if is_constant false F then Some (Simplified (constant_form false)) else
  if is_constant true F then Some (Primitive true (if back then NFirst else NLast)) else
  map_option (fun a => Primitive false (if back then NPrev a else NNext a)) (resolve F).
Definition reach_primitive (back : bool) (a b : lit) : node := if back then NSince a b else NUntil a b.
(** [b] is the operator with the left operand [a] already *)
Definition reaches (back : bool) (a b : lit) : bool :=
  negb (snd b) && match nth_error table (fst b) with
    | Some (Indexed _ (Some (false, NSince a' _))) => back && lit_eqb a a'
    | Some (Indexed _ (Some (false, NUntil a' _))) => negb back && lit_eqb a a'
    | _ => false end.
Definition make_reach (back : bool) (F : option form) (G : form) : option outcome :=
  if is_constant true G || is_constant false G then Some (Simplified G) else
  match F with
  | None => None
  | Some F =>
    if is_constant false F || same_form F G then Some (Simplified G) else
    match resolve F, resolve G with
    | Some a, Some b => if reaches back a b then Some (Simplified G) else Some (Primitive false (reach_primitive back
      a b))
    | _, _ => None
    end
  end.
Definition step (back : bool) (F : option form) : option form := finish (bind_option (make_step back) F).
Definition reach (back : bool) (F G : option form) : option form := finish (bind_option (make_reach back F) G).

(** * Linear inequalities *)
Fixpoint insert_count (z : Z) (k : count) (ts : list (Z * count)) : list (Z * count) :=
  match ts with
  | [] => [(z, k)]
  | (z', k') :: r =>
      if count_eqb k k' then (if Z.eqb (z + z') 0 then r else ((z + z')%Z, k') :: r)
      else if count_before k k' then (z, k) :: ts else (z', k') :: insert_count z k r
  end.
Definition add_linear (L M : linear) : linear :=
  (fold_right (fun t ts => insert_count (fst t) (snd t) ts) (fst M) (fst L), (snd L + snd M)%Z).
Definition scale_linear (z : Z) (L : linear) : linear :=
  if Z.eqb z 0 then ([], 0%Z) else (map (fun t => ((z * fst t)%Z, snd t)) (fst L), (z * snd L)%Z).
Definition true_lit : lit := match resolve (constant_form true) with Some l => l | None => (beyond, true) end.
Definition position_count : count := (Before, true_lit).
(** a count of a false literal is 0 *)
Definition count_linear (s : side) (F : form) : option linear :=
  if is_constant false F then Some ([], 0%Z) else map_option (fun l => ([(1%Z, (s, l))], 0%Z)) (resolve F).
Fixpoint linear_of_terms (ts : list (Z * count)) (c : Z) : option linear :=
  match ts with
  | [] => Some ([], c)
  | (z, (s, l)) :: ts =>
      match bind_option (count_linear s) (form_of_lit l), linear_of_terms ts c with
      | Some L, Some M => Some (add_linear (scale_linear z L) M)
      | _, _ => None
      end
  end.
Definition divided (L : linear) : linear :=
  let g := fold_right (fun t g => Z.gcd (fst t) g) 0%Z (fst L) in
  if Z.eqb g 0 then L else (map (fun t => ((fst t / g)%Z, snd t)) (fst L), (snd L / g)%Z).
(** That a count is positive, or with [s] that it is 0. Every side has a position. *)
Definition positive_count (s : bool) (k : count) : outcome :=
  if count_eqb k (fst k, true_lit) then Simplified (constant_form (negb s)) else Primitive s (NAtLeast [(1%Z, k)] (-1)%Z).
Definition make_at_least (L : linear) : outcome :=
  let (ts, c) := divided L in
  if forallb (fun t => 0 <=? fst t)%Z ts && (0 <=? c)%Z then Simplified (constant_form true) else
  if forallb (fun t => fst t <=? 0)%Z ts && (c <? 0)%Z then Simplified (constant_form false) else
  match ts with
  | [(z, k)] =>
      if Z.eqb z 1 && Z.eqb c (-1) then positive_count false k else
      if Z.eqb z (-1) && Z.eqb c 0 then positive_count true k else Primitive false (NAtLeast ts c)
  | _ => Primitive false (NAtLeast ts c)
  end.
Definition at_least (L : linear) : option form := finish (Some (make_at_least L)).

(** * Numerical predicates of linear terms *)
Definition node_on (k : count) (c : condition) : outcome :=
  let on_length := count_eqb k (Everywhere, true_lit) in
  match canonical (if on_length then condition_at Len c else c) with
  | inl c => Primitive false (if on_length || count_eqb k position_count then NHolds c else NNumeric c k)
  | inr b => Simplified (constant_form b)
  end.
Definition make_numeric (c : condition) (k : count) (s o : Z) : outcome :=
  node_on k (condition_at (affine_integer s 0 o) c).
(** [s * k mod m = r] *)
Definition remainder (k : count) (m s r : Z) : option form :=
  finish (Some (make_numeric (Eq (Mod X (Const m)) (Const r)) k s 0)).
(** Congruences of several counts: for each residue t, the form of "the terms add up to t modulo m". *)
Definition LARGEST_MODULUS : Z := 64.
Definition residues (m : Z) : list Z := up_to (m - 1).
Definition at_residue (fs : list (option form)) (t : Z) : option form := nth (Z.to_nat t) fs None.
Fixpoint congruences (m : Z) (ts : list (Z * count)) : list (option form) :=
  match ts with
  | [] => map (fun t => Some (constant_form (Z.eqb t 0))) (residues m)
  | [(z, k)] => map (remainder k m z) (residues m)
  | (z, k) :: ts =>
      let rest := congruences m ts in
      let here := map (remainder k m 1) (residues m) in
      map (fun t => fold_right (fun v F => either (both (at_residue here v) (at_residue rest ((t - z * v) mod m))) F)
                      (Some (constant_form false)) (residues m))
        (residues m)
  end.
Definition congruent (m r : Z) (L : linear) : option form :=
  if (m <=? LARGEST_MODULUS)%Z then
    at_residue (congruences m (filter (fun t => negb (Z.eqb (fst t mod m) 0)) (fst L))) ((r - snd L) mod m)
  else None.
Definition numeric (c : condition) (L : linear) : option form :=
  match L with
  | ([], o) => finish (Some (make_numeric c position_count 0 o))
  | ([(s, k)], o) => finish (Some (make_numeric c k s o))
  | _ => match remainder_of c with
         | Some (m, r, s, t, o) => if Z.eqb t 0 then congruent m (r - o) (scale_linear s L) else None
         | None => None
         end
  end.

(** * A node of the table, in terms of earlier nodes *)
Definition outcome_of_node (d : node) : option outcome :=
  match d with
  | NLetters s =>
      Some (match letters with O => Primitive false d | S _ => Simplified (symbols_form (symbol_set s)) end)
  | NFirst | NLast | NEven => Some (Primitive false d)
  | NHolds c => Some (make_numeric c position_count 1 0)
  | NAnd ls => map_option Simplified (fold_right (fun l F => both (form_of_lit l) F) (Some (constant_form true)) ls)
  | NXor a b => match form_of_lit a, form_of_lit b with Some F, Some G => make_xor F G | _, _ => None end
  | NPrev a => bind_option (make_step true) (form_of_lit a)
  | NNext a => bind_option (make_step false) (form_of_lit a)
  | NSince a b => bind_option (make_reach true (form_of_lit a)) (form_of_lit b)
  | NUntil a b => bind_option (make_reach false (form_of_lit a)) (form_of_lit b)
  | NAtLeast ts c => map_option make_at_least (linear_of_terms ts c)
  | NNumeric c (s, l) =>
      match bind_option (count_linear s) (form_of_lit l) with
      | Some ([(z, k)], o) => Some (make_numeric c k z o)
      | _ => None
      end
  end.
Definition index_node (d : node) : indexed :=
  let itself := lit_form (length table, false) in
  match outcome_of_node d with
  | Some (Simplified F) => Indexed F None
  | Some (Primitive s d') =>
      match find_node d' with
      | Some (k, s') => Indexed (lit_form (k, xorb s s')) None
      | None => Indexed itself (Some (s, d'))
      end
  | None => Indexed itself None
  end.

(** * The formula *)
Fixpoint translated (f : formula) : option form :=
  match f with
  | Truth b => Some (constant_form b)
  | Atom a => finish (outcome_of_node (NLetters [a]))
  | First => finish (Some (Primitive false NFirst))
  | Last => finish (Some (Primitive false NLast))
  | Holds c t => bind_option (numeric c) (translated_term t)
  | Not f => negation (translated f)
  | And f g => both (translated f) (translated g)
  | Or f g => either (translated f) (translated g)
  | Implies f g => either (negation (translated f)) (translated g)
  | Xor f g => finish (match translated f, translated g with Some F, Some G => make_xor F G | _, _ => None end)
  | Equivalent f g =>
      negation (finish (match translated f, translated g with Some F, Some G => make_xor F G | _, _ => None end))
  | Yesterday f => step true (translated f)
  | Next f => step false (translated f)
  | WeakYesterday f => negation (step true (negation (translated f)))
  | WeakNext f => negation (step false (negation (translated f)))
  | Once f => reach true (Some (constant_form true)) (translated f)
  | Eventually f => reach false (Some (constant_form true)) (translated f)
  | Historically f => negation (reach true (Some (constant_form true)) (negation (translated f)))
  | Always f => negation (reach false (Some (constant_form true)) (negation (translated f)))
  | Since f g => reach true (translated f) (translated g)
  | Until f g => reach false (translated f) (translated g)
  | Trigger f g => negation (reach true (negation (translated f)) (negation (translated g)))
  | Release f g => negation (reach false (negation (translated f)) (negation (translated g)))
  | WeakUntil f g =>
      let F := negation (translated f) in let G := negation (translated g) in
      negation (reach false G (both F G))
  | StrongRelease f g => let G := translated g in reach false G (both (translated f) G)
  | AtMost s t =>
      match translated_term s, translated_term t with
      | Some L, Some M => at_least (add_linear M (scale_linear (-1) L))
      | _, _ => None
      end
  | Equal s t =>
      match translated_term s, translated_term t with
      | Some L, Some M =>
          both (at_least (add_linear M (scale_linear (-1) L))) (at_least (add_linear L (scale_linear (-1) M)))
      | _, _ => None
      end
  end
with translated_term (t : term) : option linear :=
  match t with
  | Constant z => Some ([], z)
  | Position => Some ([(1%Z, position_count)], 0%Z)
  | Length => Some ([(1%Z, (Everywhere, true_lit))], 0%Z)
  | CountLeft f => bind_option (count_linear Before) (translated f)
  | CountRight f => bind_option (count_linear After) (translated f)
  | CountAll f => bind_option (count_linear Everywhere) (translated f)
  | Plus s t =>
      match translated_term s, translated_term t with Some L, Some M => Some (add_linear L M) | _, _ => None end
  | Times z t => map_option (scale_linear z) (translated_term t)
  end.
End Forms.

Definition index_table (letters : nat) (ns : list node) : list indexed :=
  fold_left (fun table d => table ++ [index_node letters (length ns) table d]) ns [].
(** The literal of a formula; None if the table has no node for some part of it. *)
Definition translate (letters : nat) (ns : list node) (f : formula) : option lit :=
  let table := index_table letters ns in
  bind_option (resolve letters (length ns) table) (translated letters (length ns) table f).
(** The literal whose truth at the last position is the truth of the formula at the position where it is read. *)
Definition translate_at (letters : nat) (ns : list node) (r : reading) (f : formula) : option lit :=
  translate letters ns (match r with AtFirst => Once (And First f) | AtLast => f end).

(** * Equality tests *)
Lemma same_list_ok {A} (same : A -> A -> bool) : (forall x y, same x y = true -> x = y) ->
  forall a b, same_list same a b = true -> a = b.
Proof.
  intros Hs a; induction a as [|x a IH]; intros [|y b] H; try discriminate; auto.
  cbn in H; apply andb_prop in H; destruct H as [Hx Ha]; f_equal; auto.
Qed.
Lemma same_term_ok a b : same_term a b = true -> a = b.
Proof.
  destruct a as [z k], b as [y l]; unfold same_term; cbn; intro H; apply andb_prop in H; destruct H as [Hz Hk].
  apply Z.eqb_eq in Hz; apply count_eqb_ok in Hk; congruence.
Qed.
Lemma same_node_ok d e : same_node d e = true -> d = e.
Proof.
  destruct d, e; unfold same_node; intro H; try discriminate; try reflexivity;
    try (f_equal; apply lit_eqb_ok, H); try (apply andb_prop in H; destruct H as [H1 H2]); f_equal;
    auto using lit_eqb_ok, count_eqb_ok, condition_eqb_ok.
  - exact (same_list_ok _ (fun x y => proj1 (Nat.eqb_eq x y)) _ _ H).
  - exact (same_list_ok _ same_term_ok _ _ H1).
  - apply Z.eqb_eq, H2.
Qed.

(** * Quantifiers over positions *)
Lemma in_range a b j : In j (positions a b) <-> a <= j <= b.
Proof. unfold positions; rewrite in_seq; lia. Qed.
Lemma some_ext a b P Q : (forall j, a <= j <= b -> P j = Q j) -> some a b P = some a b Q.
Proof.
  intro H; unfold some; assert (forall j, In j (positions a b) -> P j = Q j) as E by (intros j Hj;
    apply H, in_range, Hj).
  induction (positions a b) as [|x L IH]; cbn; auto; rewrite E, IH; cbn; auto using in_eq, in_cons.
Qed.
Lemma some_negb a b P : every a b P = negb (some a b (fun j => negb (P j))).
Proof.
  unfold some, every; induction (positions a b) as [|x L IH]; cbn; auto.
  rewrite IH, negb_orb, negb_involutive; reflexivity.
Qed.
Lemma every_ext a b P Q : (forall j, a <= j <= b -> P j = Q j) -> every a b P = every a b Q.
Proof. intro H; rewrite !some_negb; f_equal; apply some_ext; intros j Hj; rewrite H; auto. Qed.
Lemma some_iff a b P : some a b P = true <-> exists j, a <= j <= b /\ P j = true.
Proof.
  unfold some; rewrite existsb_exists; split; intros [j [Hj HP]]; exists j; split; auto; apply in_range, Hj.
Qed.
Lemma every_iff a b P : every a b P = true <-> forall j, a <= j <= b -> P j = true.
Proof.
  unfold every; rewrite forallb_forall; split; intros H j Hj; apply H, in_range, Hj.
Qed.
Lemma number_equal a b P Q : (forall j, a <= j <= b -> P j = Q j) -> number a b P = number a b Q.
Proof.
  intro H; unfold number; do 2 f_equal; apply filter_ext_in; intros j Hj; apply H, in_range, Hj.
Qed.
Lemma filter_all {A} (L : list A) P : (forall j, In j L -> P j = true) -> filter P L = L.
Proof. induction L as [|x L IH]; cbn; intro H; auto; rewrite H, IH; auto. Qed.
Lemma filter_none {A} (L : list A) P : (forall j, In j L -> P j = false) -> filter P L = [].
Proof. induction L as [|x L IH]; cbn; intro H; auto; rewrite H, IH; auto. Qed.
Lemma number_all a b P : a <= S b -> (forall j, a <= j <= b -> P j = true) -> number a b P = Z.of_nat (S b - a).
Proof.
  intros Hab H; unfold number; rewrite filter_all by (intros j Hj; apply H, in_range, Hj).
  unfold positions; rewrite seq_length; f_equal; lia.
Qed.
Lemma number_none a b P : (forall j, a <= j <= b -> P j = false) -> number a b P = 0%Z.
Proof. intro H; unfold number; rewrite filter_none; auto; intros j Hj; apply H, in_range, Hj. Qed.
Lemma bool_eq (a b : bool) : (a = true <-> b = true) -> a = b.
Proof. destruct a, b; intuition congruence. Qed.

(** * Since and until, with the simplifications of [make_reach] *)
Definition reach_truth (n : nat) (back : bool) (f g : nat -> bool) (i : nat) : bool :=
  if back then some 1 i (fun j => g j && every (j + 1) i f) else some i n (fun j => g j && every i (j - 1) f).
Lemma reach_true n back f g i : 1 <= i -> reach_truth n back f g i = true <->
  exists j, (if back then 1 <= j <= i else i <= j <= n) /\ g j = true
            /\ forall k, (if back then j < k <= i else i <= k < j) -> f k = true.
Proof.
  intro Hi; unfold reach_truth; destruct back; rewrite some_iff; split; intros [j [Hj H]]; exists j; split; auto.
  - apply andb_prop in H; destruct H as [Hg Hf]; rewrite every_iff in Hf; split; auto; intros k Hk; apply Hf; lia.
  - destruct H as [Hg Hf]; rewrite Hg; apply every_iff; intros k Hk; apply Hf; lia.
  - apply andb_prop in H; destruct H as [Hg Hf]; rewrite every_iff in Hf; split; auto; intros k Hk; apply Hf; lia.
  - destruct H as [Hg Hf]; rewrite Hg; apply every_iff; intros k Hk; apply Hf; lia.
Qed.
Lemma reach_ext n back f g f' g' i : (forall j, 1 <= j <= n -> f j = f' j) -> (forall j, 1 <= j <= n -> g j = g' j) ->
  1 <= i <= n -> reach_truth n back f g i = reach_truth n back f' g' i.
Proof.
  intros Hf Hg Hi; unfold reach_truth; destruct back; apply some_ext; intros j Hj; f_equal;
    try (apply Hg; lia); apply every_ext; intros k Hk; apply Hf; lia.
Qed.
Lemma reach_here n back f g i : 1 <= i <= n -> g i = true -> reach_truth n back f g i = true.
Proof. intros Hi Hg; apply reach_true; [lia|]; exists i; destruct back; repeat split; auto; try lia; intros; exfalso;
  lia. Qed.
(** the operator has the truth of its right operand: where that is constant, where the left operand is false or equal *)
Lemma reach_right n back f g i : 1 <= i <= n ->
  (forall b, (forall j, 1 <= j <= n -> g j = b) -> reach_truth n back f g i = g i)
  /\ ((forall j, 1 <= j <= n -> f j = false) -> reach_truth n back f g i = g i)
  /\ ((forall j, 1 <= j <= n -> f j = g j) -> reach_truth n back f g i = g i).
Proof.
  intro Hi; assert (forall j, (if back then 1 <= j <= i else i <= j <= n) -> 1 <= j <= n) as In by (destruct back; lia).
  split; [intros b Hb|split; intro Hf]; apply bool_eq; split; intro H; try (apply reach_here; assumption);
    apply reach_true in H; try lia; destruct H as [j [Hj [Hg Hf']]].
  - rewrite Hb in *; auto.
  - destruct (Nat.eq_dec j i) as [->|Hji]; auto.
    assert (f i = true) as Hfi by (apply Hf'; destruct back; lia); rewrite Hf in Hfi by lia; discriminate.
  - destruct (Nat.eq_dec j i) as [->|Hji]; auto.
    rewrite <- Hf by lia; apply Hf'; destruct back; lia.
Qed.
Lemma reach_again n back f g h i : 1 <= i <= n -> (forall j, 1 <= j <= n -> h j = reach_truth n back f g j) ->
  reach_truth n back f h i = h i.
Proof.
  intros Hi Hh; apply bool_eq; split; intro H; [|apply reach_here; auto].
  rewrite Hh by lia; apply reach_true in H; [|lia]; destruct H as [j [Hj [Hg Hf]]].
  rewrite Hh in Hg by (destruct back; lia); apply reach_true in Hg; [|destruct back; lia];
    destruct Hg as [k [Hk [Hg Hf']]].
  apply reach_true; [lia|]; exists k; split; [destruct back; lia|split; auto].
  intros m Hm; destruct back; [destruct (le_lt_dec m j)|destruct (le_lt_dec j m)];
    first [apply Hf; lia | apply Hf'; lia].
Qed.

(** * Conditions *)
Lemma integer_at_ok x n e a : integer_value x n (integer_at e a) = integer_value (integer_value x n e) n a.
Proof. induction a; cbn; congruence. Qed.
Lemma condition_at_ok x n e c : condition_holds x n (condition_at e c) = condition_holds (integer_value x n e) n c.
Proof. induction c; cbn; rewrite ?integer_at_ok; congruence. Qed.
Lemma sum_of_integers_value x n ls :
  integer_value x n (sum_of_integers ls) = fold_right Z.add 0%Z (map (integer_value x n) ls).
Proof.
  induction ls as [|a [|b ls] IH]; [reflexivity|cbn; lia|].
  change (sum_of_integers (a :: b :: ls)) with (Add a (sum_of_integers (b :: ls))).
  cbn [integer_value]; rewrite IH; reflexivity.
Qed.
Lemma multiple_value x n z a ls : fold_right Z.add 0%Z (map (integer_value x n) (multiple z a ++ ls)) =
  (z * integer_value x n a + fold_right Z.add 0%Z (map (integer_value x n) ls))%Z.
Proof.
  unfold multiple; destruct (Z.eqb_spec z 0) as [->|_]; [reflexivity|].
  destruct (Z.eqb_spec z 1) as [->|_]; cbn [app map fold_right integer_value]; lia.
Qed.
Lemma affine_integer_value x n s t o : integer_value x n (affine_integer s t o) = (s * x + t * n + o)%Z.
Proof.
  unfold affine_integer; rewrite sum_of_integers_value, !multiple_value.
  destruct (Z.eqb_spec o 0) as [->|_]; cbn [map fold_right integer_value]; lia.
Qed.
Lemma affine_of_ok x n a : forall s t o, affine_of a = Some (s, t, o) -> integer_value x n a = (s * x + t * n + o)%Z.
Proof.
  induction a as [| |z|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb|a IHa b IHb]; intros s t o H;
    cbn [affine_of] in H; try discriminate; try (injection H as <- <- <-; cbn [integer_value]; lia);
    destruct (affine_of a) as [[[s1 t1] o1]|]; try discriminate; destruct (affine_of b) as [[[s2 t2] o2]|];
      try discriminate;
    specialize (IHa _ _ _ eq_refl); specialize (IHb _ _ _ eq_refl); cbn [integer_value]; rewrite IHa, IHb.
  - injection H as <- <- <-; ring.
  - injection H as <- <- <-; ring.
  - destruct (Z.eqb_spec s1 0) as [->|_], (Z.eqb_spec t1 0) as [->|_]; cbn [andb] in H;
      try (injection H as <- <- <-; ring);
      destruct (Z.eqb_spec s2 0) as [->|_], (Z.eqb_spec t2 0) as [->|_]; try discriminate; injection H as <- <- <-;
        ring.
Qed.
Lemma normal_integer_ok x n a : integer_value x n (normal_integer a) = integer_value x n a.
Proof.
  induction a; cbn [normal_integer];
    match goal with |- context [match ?A with Some _ => _ | None => _ end] => destruct A as [[[s t] o]|] eqn:E end;
    try (rewrite affine_integer_value; symmetry; apply affine_of_ok; exact E);
    cbn [integer_value]; congruence.
Qed.
Lemma normal_condition_ok x n c : condition_holds x n (normal_condition c) = condition_holds x n c.
Proof. induction c; cbn; rewrite ?normal_integer_ok; congruence. Qed.
Lemma remainder_of_ok x n c m r s t o : remainder_of c = Some (m, r, s, t, o) ->
  (0 <= r < m)%Z /\ condition_holds x n c = ((s * x + t * n + o) mod m =? r)%Z.
Proof.
  intro H; destruct c as [|a b| | | | | |]; try discriminate; destruct a as [| | | | | | |a m']; try discriminate.
  destruct m' as [| |m'| | | | |]; try discriminate; destruct b as [| |r'| | | | |]; try discriminate; cbn in H.
  destruct (affine_of a) as [[[s' t'] o']|] eqn:E; [|discriminate].
  destruct ((0 <=? r')%Z && (r' <? m')%Z) eqn:Hr; [|discriminate]; injection H as <- <- <- <- <-.
  apply andb_prop in Hr; destruct Hr as [H0 H1]; apply Z.leb_le in H0; apply Z.ltb_lt in H1; split; [lia|].
  cbn; rewrite (affine_of_ok x n a _ _ _ E); reflexivity.
Qed.
Lemma mod_shift u o m r : m <> 0%Z -> ((u + o) mod m =? r mod m)%Z = (u mod m =? (r - o) mod m)%Z.
Proof.
  intro Hm; apply bool_eq; rewrite !Z.eqb_eq; split; intro H.
  - rewrite <- Zminus_mod_idemp_l, <- H, Zminus_mod_idemp_l; f_equal; lia.
  - rewrite <- Zplus_mod_idemp_l, H, Zplus_mod_idemp_l; f_equal; lia.
Qed.
Lemma canonical_ok x n c :
  match canonical c with inl d => condition_holds x n d = condition_holds x n c | inr b => condition_holds x n c = b
    end.
Proof.
  unfold canonical; destruct (remainder_of c) as [[[[[m r] s] t] o]|] eqn:E; [|apply normal_condition_ok].
  apply (remainder_of_ok x n) in E; destruct E as [Hr ->].
  assert (((s * x + t * n + o) mod m =? r)%Z = ((s mod m * x + t mod m * n) mod m =? (r - o) mod m)%Z) as ->.
  { rewrite <- (Z.mod_small r m) at 1 by lia; rewrite mod_shift by lia; f_equal.
    rewrite (Zplus_mod (s * x)), (Zplus_mod (s mod m * x)), (Zmult_mod_idemp_l s), (Zmult_mod_idemp_l t); reflexivity. }
  destruct (Z.eqb_spec (s mod m) 0) as [Hs|_]; destruct (Z.eqb_spec (t mod m) 0) as [Ht|_]; cbn [andb];
    [rewrite Hs, Ht; cbn [Z.mul Z.add]; rewrite Zmod_0_l; apply Z.eqb_sym| | |];
    cbn [condition_holds integer_value]; rewrite affine_integer_value, Z.add_0_r; reflexivity.
Qed.

(** * Linear terms *)
Section Linear.
Variables (n : nat) (T : nat -> nat -> bool) (i : nat).
Definition linear_at (L : linear) : Z := (linear_value n T (fst L) i + snd L)%Z.
Lemma linear_cons t ts :
  linear_value n T (t :: ts) i = (fst t * count_value n T (snd t) i + linear_value n T ts i)%Z.
Proof. destruct t; reflexivity. Qed.
Lemma count_not_negative k : (0 <= count_value n T k i)%Z.
Proof. destruct k as [[] l]; apply Nat2Z.is_nonneg. Qed.
Lemma insert_count_ok z k ts :
  linear_value n T (insert_count z k ts) i = (z * count_value n T k i + linear_value n T ts i)%Z.
Proof.
  induction ts as [|[y l] ts IH]; [reflexivity|]; cbn [insert_count]; destruct (count_eqb k l) eqn:E.
  - apply count_eqb_ok in E; subst l; destruct (Z.eqb_spec (z + y) 0) as [Hz|_]; rewrite !linear_cons; cbn [fst snd].
    + assert (y = (- z)%Z) as -> by lia; lia.
    + lia.
  - destruct (count_before k l); rewrite !linear_cons; cbn [fst snd]; rewrite ?IH, ?linear_cons; cbn [fst snd]; lia.
Qed.
Lemma add_linear_ok L M : linear_at (add_linear L M) = (linear_at L + linear_at M)%Z.
Proof.
  destruct L as [ts c], M as [ts' c']; unfold add_linear, linear_at; cbn [fst snd].
  enough (linear_value n T (fold_right (fun t ts => insert_count (fst t) (snd t) ts) ts' ts) i =
    linear_value n T ts i + linear_value n T ts' i)%Z by lia.
  induction ts as [|[z k] ts IH]; [reflexivity|]; cbn [fold_right fst snd]; rewrite insert_count_ok, IH.
  rewrite linear_cons; cbn [fst snd]; lia.
Qed.
Lemma scale_linear_ok z L : linear_at (scale_linear z L) = (z * linear_at L)%Z.
Proof.
  destruct L as [ts c]; unfold scale_linear, linear_at; destruct (Z.eqb_spec z 0) as [->|_]; [reflexivity|];
    cbn [fst snd].
  enough (linear_value n T (map (fun t => ((z * fst t)%Z, snd t)) ts) i = z * linear_value n T ts i)%Z by lia.
  induction ts as [|[y k] ts IH]; [cbn; lia|]; cbn [map fst snd].
  rewrite !linear_cons; cbn [fst snd].
  rewrite IH; cbn [fst snd]; lia.
Qed.
Lemma divides_terms g ts : (forall t, In t ts -> (g | fst t)%Z) ->
  linear_value n T ts i = (g * linear_value n T (map (fun t => ((fst t / g)%Z, snd t)) ts) i)%Z.
Proof.
  induction ts as [|[y k] ts IH]; intro H; [cbn; lia|]; cbn [map fst snd].
  rewrite !linear_cons; cbn [fst snd].
  rewrite IH by (intros t Ht; apply H; right; exact Ht); cbn [fst snd].
  destruct (H (y, k) (or_introl eq_refl)) as [q Hq]; cbn [fst] in Hq; subst y.
  destruct (Z.eq_dec g 0) as [->|Hg]; [lia|]; rewrite Z.div_mul by exact Hg; lia.
Qed.
Lemma divided_ok L : (0 <=? linear_at (divided L))%Z = (0 <=? linear_at L)%Z.
Proof.
  destruct L as [ts c]; unfold divided; cbn [fst snd].
  assert (forall t, In t ts -> (fold_right (fun t g => Z.gcd (fst t) g) 0 ts | fst t)%Z) as D.
  { induction ts as [|a ts IH]; intros t Ht; [destruct Ht|]; cbn [fold_right]; destruct Ht as [->|Ht].
    - apply Z.gcd_divide_l.
    - eapply Z.divide_trans; [apply Z.gcd_divide_r|]; auto. }
  assert (0 <= fold_right (fun t g => Z.gcd (fst t) g) 0 ts)%Z as P by (destruct ts; [cbn; lia|apply Z.gcd_nonneg]).
  set (g := fold_right (fun t g => Z.gcd (fst t) g) 0%Z ts) in *; destruct (Z.eqb_spec g 0) as [_|Hg]; [reflexivity|].
  unfold linear_at; cbn [fst snd]; rewrite (divides_terms g ts D).
  set (v := linear_value n T (map _ ts) i); pose proof (Z.div_mod c g Hg) as E; pose proof (Z.mod_pos_bound c g) as B.
  set (q := (c / g)%Z) in *; set (r := (c mod g)%Z) in *.
  apply bool_eq; rewrite !Z.leb_le; split; intro H; [nia|].
  assert (0 <= g * (v + q) + r)%Z by lia; destruct (Z.le_gt_cases 0 (v + q)); [lia|nia].
Qed.
Lemma linear_not_negative ts : forallb (fun t => 0 <=? fst t)%Z ts = true -> (0 <= linear_value n T ts i)%Z.
Proof.
  induction ts as [|[z k] ts IH]; [cbn; lia|]; cbn [forallb]; intro H; apply andb_prop in H; destruct H as [Hz H].
  rewrite !linear_cons; cbn [fst snd].
  cbn [fst] in Hz; apply Z.leb_le in Hz; specialize (IH H); pose proof (count_not_negative k); nia.
Qed.
Lemma linear_not_positive ts : forallb (fun t => fst t <=? 0)%Z ts = true -> (linear_value n T ts i <= 0)%Z.
Proof.
  induction ts as [|[z k] ts IH]; [cbn; lia|]; cbn [forallb]; intro H; apply andb_prop in H; destruct H as [Hz H].
  rewrite !linear_cons; cbn [fst snd].
  cbn [fst] in Hz; apply Z.leb_le in Hz; specialize (IH H); pose proof (count_not_negative k); nia.
Qed.
(** terms whose factor is 0 modulo m *)
Lemma filter_mod m ts : (linear_value n T (filter (fun t => negb (fst t mod m =? 0)%Z) ts) i mod m =
  linear_value n T ts i mod m)%Z.
Proof.
  induction ts as [|[z k] ts IH]; [reflexivity|]; cbn [filter fst].
  rewrite !linear_cons; cbn [fst snd].
  destruct (Z.eqb_spec (z mod m) 0) as [Hz|_]; cbn [negb].
  - rewrite IH, Zplus_mod, (Zmult_mod z), Hz, Z.mul_0_l, Zmod_0_l, Z.add_0_l, Zmod_mod; reflexivity.
  - rewrite linear_cons; cbn [fst snd]; rewrite Zplus_mod, IH, <- Zplus_mod; reflexivity.
Qed.
End Linear.

(** * Residues *)
Lemma in_residues m v : In v (residues m) <-> (0 <= v < m)%Z.
Proof.
  unfold residues, up_to; rewrite in_map_iff; split.
  - intros [k [<- Hk]]; apply in_seq in Hk; lia.
  - intro H; exists (Z.to_nat v); rewrite in_seq; lia.
Qed.
Lemma at_residue_map (f : Z -> option form) m t : (0 <= t < m)%Z -> at_residue (map f (residues m)) t = f t.
Proof.
  intro H; unfold at_residue, residues, up_to; rewrite map_map.
  rewrite nth_indep with (d' := f (Z.of_nat 0)) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth (fun k => f (Z.of_nat k)) _ 0), seq_nth by lia; f_equal; lia.
Qed.
Lemma split_congruence m t z x y : (0 <= t < m)%Z ->
  existsb (fun v => (x mod m =? v) && (y mod m =? (t - z * v) mod m))%Z (residues m) = ((z * x + y) mod m =? t)%Z.
Proof.
  intro Ht; assert (((z * x + y) mod m =? t)%Z = (y mod m =? (t - z * (x mod m)) mod m)%Z) as ->.
  { rewrite <- (Z.mod_small t m Ht) at 1; rewrite Z.add_comm, mod_shift by lia; f_equal.
    rewrite <- Zminus_mod_idemp_r, <- Zmult_mod_idemp_r, Zminus_mod_idemp_r; reflexivity. }
  apply bool_eq; rewrite existsb_exists; split.
  - intros [v [_ H]]; apply andb_prop in H; destruct H as [Hx Hy]; apply Z.eqb_eq in Hx; subst v; exact Hy.
  - intro H; exists (x mod m)%Z; rewrite in_residues, Z.eqb_refl; split; [apply Z.mod_pos_bound; lia|exact H].
Qed.

Section Sound.
Variables (n : nat) (w : nat -> symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool).
Hypothesis HT : model n w ns T.
Hypothesis Hw : letters <> 0 -> forall i, 1 <= i <= n -> exists c, c < letters /\ w i = letter c.

(** * The truth of a form *)
Definition current (i : nat) : N := match find (w i) (seq 0 letters) with Some c => N.of_nat c | None => 0%N end.
Definition form_truth (F : form) (i : nat) : bool :=
  let '(s, (m, ls)) := F in xorb s (N.testbit m (current i) && forallb (fun l => truth T l i) ls).
Definition means (F : form) (P : nat -> bool) : Prop := forall i, 1 <= i <= n -> form_truth F i = P i.
Definition denotes (o : option form) (P : nat -> bool) : Prop := forall F, o = Some F -> means F P.
Lemma means_ext F P Q : means F P -> (forall i, 1 <= i <= n -> P i = Q i) -> means F Q.
Proof. intros H E i Hi; rewrite <- E by exact Hi; apply H, Hi. Qed.
Lemma denotes_ext o P Q : denotes o P -> (forall i, 1 <= i <= n -> P i = Q i) -> denotes o Q.
Proof. intros H E F HF; exact (means_ext F P Q (H F HF) E). Qed.
Lemma denotes_none P : denotes None P.
Proof. discriminate. Qed.
Lemma denotes_some F P : means F P -> denotes (Some F) P.
Proof. intros H G HG; injection HG as <-; exact H. Qed.

Lemma current_letter i : letters <> 0 -> 1 <= i <= n -> exists c,
  c < letters /\ w i = letter c /\ current i = N.of_nat c.
Proof.
  intros Hl Hi; destruct (Hw Hl i Hi) as [c [Hc E]]; exists c; repeat split; auto.
  unfold current; rewrite E; destruct (find (letter c) (seq 0 letters)) as [d|] eqn:Hd.
  - apply find_some in Hd; destruct Hd as [_ Hd]; apply Nat.eqb_eq in Hd; congruence.
  - assert (In c (seq 0 letters)) as Hin by (apply in_seq; lia); apply (find_none _ _ Hd) in Hin.
    unfold letter in Hin; rewrite Nat.eqb_refl in Hin; discriminate.
Qed.
Lemma all_current i : 1 <= i <= n -> N.testbit (all_symbols letters) (current i) = true.
Proof.
  intro Hi; apply N.ones_spec_low; destruct (Nat.eq_dec letters 0) as [E|E].
  - unfold current, width; rewrite E; reflexivity.
  - destruct (current_letter i E Hi) as [c [Hc [_ ->]]]; unfold width; destruct letters; lia.
Qed.
Lemma setbits_ok s c : N.testbit (fold_right (fun c m => N.setbit m (N.of_nat c)) 0%N s) (N.of_nat c) = existsb
  (letter c) s.
Proof.
  induction s as [|d s IH]; [apply N.bits_0|]; cbn [fold_right existsb].
  rewrite N.setbit_eqb, IH; f_equal; unfold letter; apply bool_eq; rewrite N.eqb_eq, Nat.eqb_eq; lia.
Qed.
Lemma symbol_set_ok s i : letters <> 0 -> 1 <= i <= n -> N.testbit (symbol_set letters s) (current i) = existsb (w i) s.
Proof.
  intros Hl Hi; unfold symbol_set; rewrite N.land_spec, all_current by exact Hi.
  destruct (current_letter i Hl Hi) as [c [_ [-> ->]]]; apply setbits_ok.
Qed.
Lemma complement_ok m i : 1 <= i <= n -> N.testbit (complement letters m) (current i) = negb (N.testbit m (current i)).
Proof. intro Hi; unfold complement; rewrite N.lxor_spec, all_current by exact Hi; apply xorb_true_r. Qed.
Lemma constant_ok b : means (constant_form letters b) (fun _ => b).
Proof. intros i Hi; destruct b; cbn -[N.testbit]; [rewrite all_current by exact Hi|rewrite N.bits_0]; reflexivity. Qed.
Lemma lit_form_ok l : means (lit_form letters l) (truth T l).
Proof. intros i Hi; cbn -[N.testbit]; rewrite all_current by exact Hi; destruct (truth T l i); reflexivity. Qed.
Lemma truth_negated l i : truth T (negated_lit l) i = negb (truth T l i).
Proof. unfold truth, negated_lit; cbn; rewrite negb_xorb_l; reflexivity. Qed.
Lemma negated_ok F P : means F P -> means (negated_form letters F) (fun i => negb (P i)).
Proof.
  intros H i Hi; rewrite <- (H i Hi); destruct F as [s [m [|l [|l' ls]]]]; unfold negated_form.
  - unfold form_truth; rewrite complement_ok by exact Hi; destruct s, (N.testbit m (current i)); reflexivity.
  - destruct (N.eqb_spec m (all_symbols letters)) as [->|_]; unfold form_truth; [|symmetry; apply negb_xorb_l].
    cbn [forallb]; rewrite all_current, truth_negated by exact Hi; destruct s, (truth T l i); reflexivity.
  - unfold form_truth; symmetry; apply negb_xorb_l.
Qed.
Lemma same_form_ok F G : same_form F G = true -> F = G.
Proof.
  destruct F as [s [m ls]], G as [s' [m' ls']]; unfold same_form; intro H.
  apply andb_prop in H; destruct H as [H Hl]; apply andb_prop in H; destruct H as [Hs Hm].
  apply eqb_prop in Hs; apply N.eqb_eq in Hm; apply (same_list_ok _ lit_eqb_ok) in Hl; congruence.
Qed.
Lemma is_constant_ok b F P : is_constant letters b F = true -> means F P -> forall i, 1 <= i <= n -> P i = b.
Proof. intros E H i Hi; apply same_form_ok in E; subst F; rewrite <- (H i Hi); apply constant_ok, Hi. Qed.
Lemma insert_lit_ok (f : lit -> bool) l ls : forallb f (insert_lit l ls) = f l && forallb f ls.
Proof.
  induction ls as [|a ls IH]; [reflexivity|]; cbn; destruct (lit_eqb l a) eqn:E.
  - apply lit_eqb_ok in E; subst a; cbn; destruct (f l); reflexivity.
  - destruct (lit_before l a); cbn; [reflexivity|]; rewrite IH; destruct (f a), (f l); reflexivity.
Qed.
Lemma insert_lits_ok (f : lit -> bool) ls ls' : forallb f (fold_right insert_lit ls' ls) = forallb f ls && forallb f
  ls'.
Proof. induction ls as [|a ls IH]; cbn; [reflexivity|]; rewrite insert_lit_ok, IH, andb_assoc; reflexivity. Qed.
Lemma contradictory_ok ls i : contradictory ls = true -> forallb (fun l => truth T l i) ls = false.
Proof.
  induction ls as [|a ls IH]; [discriminate|]; destruct ls as [|b ls]; [discriminate|].
  intro H; apply orb_prop in H; destruct H as [H|H].
  - apply lit_eqb_ok in H; subst b; cbn; rewrite truth_negated; destruct (truth T a i); reflexivity.
  - cbn [forallb]; cbn [forallb] in IH; rewrite (IH H); apply andb_false_r.
Qed.
Lemma conjunction_ok m ls : means (conjunction letters m ls)
  (fun i => N.testbit m (current i) && forallb (fun l => truth T l i) ls).
Proof.
  intros i Hi; unfold conjunction; destruct (N.eqb_spec m 0) as [->|_]; cbn [orb].
  - rewrite (constant_ok false i Hi), N.bits_0; reflexivity.
  - destruct (contradictory ls) eqn:E; [|apply xorb_false_l].
    rewrite (constant_ok false i Hi), contradictory_ok, andb_false_r by exact E; reflexivity.
Qed.

(** * The table and its search *)
Definition indexed_ok (k : nat) (e : indexed) : Prop :=
  means (form_of_node e) (T k)
  /\ forall s d, key e = Some (s, d) -> forall i, 1 <= i <= n -> T k i = xorb s (node_truth n w T d i).
Variable table : list indexed.
Hypothesis Htable : forall k e, nth_error table k = Some e -> indexed_ok k e.
Notation beyond := (length ns).
Lemma beyond_false i : T beyond i = false.
Proof. rewrite HT; unfold node_at; rewrite nth_overflow by lia; reflexivity. Qed.
Lemma search_ok test es k l : search test k es = Some l ->
  exists e, nth_error es (fst l - k) = Some e /\ test e = Some (snd l) /\ k <= fst l.
Proof.
  revert k; induction es as [|e es IH]; intros k H; cbn in H; [discriminate|].
  destruct (test e) as [s|] eqn:E.
  - injection H as <-; exists e; cbn; rewrite Nat.sub_diag; auto.
  - destruct (IH _ H) as [e' [H1 [H2 H3]]]; exists e'; repeat split; auto; [|lia].
    replace (fst l - k) with (S (fst l - S k)) by lia; exact H1.
Qed.
Lemma search_table test l : search test 0 table = Some l -> exists e, indexed_ok (fst l) e /\ test e = Some (snd l).
Proof.
  intro H; destruct (search_ok _ _ _ _ H) as [e [He [Ht _]]]; rewrite Nat.sub_0_r in He.
  exists e; auto.
Qed.
Lemma form_test_ok F P e k s : means F P -> indexed_ok k e -> form_test letters F e = Some s ->
  forall i, 1 <= i <= n -> truth T (k, s) i = P i.
Proof.
  intros HF [He _] H i Hi; rewrite <- (HF i Hi); unfold truth; cbn [fst snd]; rewrite <- (He i Hi).
  destruct F as [a [m ls]]; unfold form_test in H; destruct (form_of_node e) as [a' [m' ls']].
  destruct (same_list lit_eqb ls ls') eqn:El; [|discriminate]; apply (same_list_ok _ lit_eqb_ok) in El; subst ls'.
  unfold form_truth; destruct (N.eqb_spec m m') as [->|_].
  - injection H as <-; destruct a, a', (N.testbit m' (current i)), (forallb (fun l => truth T l i) ls); reflexivity.
  - destruct ls; [|discriminate]; destruct (N.eqb_spec m' (complement letters m)) as [->|_]; [|discriminate].
    injection H as <-; rewrite complement_ok by exact Hi; cbn.
    destruct a, a', (N.testbit m (current i)); reflexivity.
Qed.
Lemma resolve_ok F P l : means F P -> resolve letters beyond table F = Some l ->
  forall i, 1 <= i <= n -> truth T l i = P i.
Proof.
  intros HF H i Hi; unfold resolve in H; destruct (single letters F) as [l'|] eqn:Es.
  - injection H as ->; rewrite <- (HF i Hi); destruct F as [s [m [|a [|]]]]; try discriminate; unfold single in Es.
    destruct (N.eqb_spec m (all_symbols letters)) as [->|_]; [|discriminate]; injection Es as <-.
    unfold form_truth; cbn [forallb]; rewrite all_current by exact Hi.
    unfold truth; cbn [fst snd]; destruct s, (snd a), (T (fst a) i); reflexivity.
  - destruct (search (form_test letters F) 0 table) as [l'|] eqn:Ef.
    + injection H as ->; destruct (search_table _ _ Ef) as [e [He Ht]]; destruct l as [k s].
      exact (form_test_ok F P e k s HF He Ht i Hi).
    + unfold constant_lit in H; destruct (is_constant letters true F) eqn:Et;
        [|destruct (is_constant letters false F) eqn:Ee];
        [| |discriminate]; injection H as <-; unfold truth; cbn [fst snd]; rewrite beyond_false; symmetry;
        eapply is_constant_ok; eauto.
Qed.
Lemma find_node_ok d k s : find_node table d = Some (k, s) ->
  forall i, 1 <= i <= n -> T k i = xorb s (node_truth n w T d i).
Proof.
  intros H i Hi; destruct (search_table _ _ H) as [e [[_ He] Ht]]; cbn [fst snd] in *; unfold key_test in Ht.
  destruct (key e) as [[s' d']|] eqn:Ek; [|discriminate]; destruct (same_node d d') eqn:Ed; [|discriminate].
  injection Ht as ->; apply same_node_ok in Ed; subst d'; exact (He s d eq_refl i Hi).
Qed.
Lemma form_of_lit_ok l : denotes (form_of_lit letters table l) (truth T l).
Proof.
  intros F HF; unfold form_of_lit in HF; destruct (nth_error table (fst l)) as [e|] eqn:He; [|discriminate].
  destruct (Htable _ _ He) as [H _]; injection HF as <-; unfold truth; destruct (snd l).
  - apply negated_ok in H; exact H.
  - intros i Hi; rewrite (H i Hi); destruct (T (fst l) i); reflexivity.
Qed.
(** what a constructor returns *)
Definition outcome_truth (o : outcome) (i : nat) : bool :=
  match o with Simplified F => form_truth F i | Primitive s d => xorb s (node_truth n w T d i) end.
Definition gives (o : option outcome) (P : nat -> bool) : Prop :=
  forall r, o = Some r -> forall i, 1 <= i <= n -> outcome_truth r i = P i.
Lemma gives_none P : gives None P.
Proof. discriminate. Qed.
Lemma gives_form F P : means F P -> gives (Some (Simplified F)) P.
Proof. intros H r Hr; injection Hr as <-; exact H. Qed.
Lemma gives_node s d P : (forall i, 1 <= i <= n -> xorb s (node_truth n w T d i) = P i) ->
  gives (Some (Primitive s d)) P.
Proof. intros H r Hr; injection Hr as <-; exact H. Qed.
Lemma finish_ok o P : gives o P -> denotes (finish letters table o) P.
Proof.
  intros H F HF; destruct o as [[G|s d]|]; cbn in HF; [| |discriminate].
  - injection HF as <-; exact (H _ eq_refl).
  - destruct (find_node table d) as [[k s']|] eqn:E; [|discriminate]; injection HF as <-.
    intros i Hi; rewrite lit_form_ok by exact Hi; rewrite <- (H _ eq_refl i Hi); cbn.
    unfold truth; cbn; rewrite (find_node_ok _ _ _ E i Hi); destruct s, s', (node_truth n w T d i); reflexivity.
Qed.

(** * Connectives *)
Lemma conjuncts_ok F P m ls : means F P -> conjuncts letters beyond table F = Some (m, ls) ->
  forall i, 1 <= i <= n -> N.testbit m (current i) && forallb (fun l => truth T l i) ls = P i.
Proof.
  intros HF H i Hi; unfold conjuncts in H; destruct F as [[|] [m' ls']]; cbn [fst snd] in H.
  - destruct (resolve letters beyond table (true, (m', ls'))) as [l|] eqn:E; [|discriminate].
    injection H as <- <-; rewrite all_current by exact Hi; cbn; rewrite andb_true_r; exact (resolve_ok _ _ _ HF E i Hi).
  - injection H as <- <-; rewrite <- (HF i Hi); cbn -[N.testbit]; destruct (N.testbit m' (current i) && _); reflexivity.
Qed.
Lemma both_ok F G P Q : denotes F P -> denotes G Q ->
  denotes (both letters beyond table F G) (fun i => P i && Q i).
Proof.
  intros HF HG H; unfold both.
  destruct (bind_option (conjuncts letters beyond table) F) as [[m ls]|] eqn:EF;
    destruct (bind_option (conjuncts letters beyond table) G) as [[m' ls']|] eqn:EG; [| | |discriminate];
    try (destruct F as [F|]; [|discriminate]; pose proof (conjuncts_ok _ _ _ _ (HF F eq_refl) EF) as KF);
    try (destruct G as [G|]; [|discriminate]; pose proof (conjuncts_ok _ _ _ _ (HG G eq_refl) EG) as KG).
  - intros E i Hi; injection E as <-; rewrite conjunction_ok, N.land_spec, insert_lits_ok, <- KF, <- KG by exact Hi.
    destruct (N.testbit m (current i)), (N.testbit m' (current i)), (forallb _ ls); reflexivity.
  - destruct (N.eqb_spec m 0) as [->|_]; [|discriminate]; intros E i Hi; injection E as <-.
    rewrite (constant_ok false i Hi), <- KF, N.bits_0 by exact Hi; reflexivity.
  - destruct (N.eqb_spec m' 0) as [->|_]; [|discriminate]; intros E i Hi; injection E as <-.
    rewrite (constant_ok false i Hi), <- KG, N.bits_0 by exact Hi; symmetry; apply andb_false_r.
Qed.
Lemma negation_ok F P : denotes F P -> denotes (negation letters F) (fun i => negb (P i)).
Proof. intros H G HG; destruct F as [F|]; [|discriminate]; injection HG as <-; apply negated_ok, H; reflexivity. Qed.
Lemma either_ok F G P Q : denotes F P -> denotes G Q ->
  denotes (either letters beyond table F G) (fun i => P i || Q i).
Proof.
  intros HF HG; eapply denotes_ext; [apply negation_ok, both_ok; apply negation_ok; eassumption|].
  intros i _; cbn; destruct (P i), (Q i); reflexivity.
Qed.
Lemma symbols_of_ok F P m : means F P -> symbols_of letters F = Some m ->
  forall i, 1 <= i <= n -> N.testbit m (current i) = P i.
Proof.
  intros HF H i Hi; rewrite <- (HF i Hi); destruct F as [s [m' [|]]]; [|discriminate]; injection H as <-.
  destruct s; cbn -[N.testbit]; rewrite ?complement_ok by exact Hi; destruct (N.testbit m' (current i)); reflexivity.
Qed.
Lemma make_xor_ok F G P Q : means F P -> means G Q ->
  gives (make_xor letters beyond table F G) (fun i => xorb (P i) (Q i)).
Proof.
  intros HF HG; unfold make_xor.
  assert (forall o, gives o (fun i => xorb (P i) (Q i)) -> forall a b : option N,
    (forall a', a = Some a' -> forall i, 1 <= i <= n -> N.testbit a' (current i) = P i) ->
    (forall b', b = Some b' -> forall i, 1 <= i <= n -> N.testbit b' (current i) = Q i) ->
    gives (match a, b with Some a, Some b => Some (Simplified (symbols_form (N.lxor a b))) | _, _ => o end)
      (fun i => xorb (P i) (Q i))) as symbols.
  { intros o Ho [a|] [b|] Ha Hb; auto; apply gives_form; intros i Hi; cbn -[N.testbit].
    rewrite N.lxor_spec, (Ha a eq_refl i Hi), (Hb b eq_refl i Hi); destruct (P i), (Q i); reflexivity. }
  apply symbols; [|intros; eapply symbols_of_ok; eauto|intros; eapply symbols_of_ok; eauto]; clear symbols.
  destruct (is_constant letters true F) eqn:E1;
    [|destruct (is_constant letters false F) eqn:E2; [|destruct (is_constant letters true G) eqn:E3;
    [|destruct (is_constant letters false G) eqn:E4]]].
  - apply gives_form; eapply means_ext; [apply negated_ok, HG|]; intros i Hi; cbn.
    rewrite (is_constant_ok _ _ _ E1 HF i Hi); destruct (Q i); reflexivity.
  - apply gives_form; eapply means_ext; [apply HG|]; intros i Hi; cbn.
    rewrite (is_constant_ok _ _ _ E2 HF i Hi); destruct (Q i); reflexivity.
  - apply gives_form; eapply means_ext; [apply negated_ok, HF|]; intros i Hi; cbn.
    rewrite (is_constant_ok _ _ _ E3 HG i Hi); destruct (P i); reflexivity.
  - apply gives_form; eapply means_ext; [apply HF|]; intros i Hi; cbn.
    rewrite (is_constant_ok _ _ _ E4 HG i Hi); destruct (P i); reflexivity.
  - destruct (resolve letters beyond table F) as [[j s]|] eqn:EF; [|apply gives_none].
    destruct (resolve letters beyond table G) as [[k t]|] eqn:EG; [|apply gives_none].
    pose proof (resolve_ok _ _ _ HF EF) as KF; pose proof (resolve_ok _ _ _ HG EG) as KG; unfold truth in KF, KG;
      cbn in KF, KG.
    destruct (Nat.eqb_spec j k) as [->|_]; [apply gives_form|apply gives_node]; intros i Hi.
    + rewrite (constant_ok _ i Hi), <- KF, <- KG by exact Hi; destruct s, t, (T k i); reflexivity.
    + rewrite <- KF, <- KG by exact Hi; cbn; unfold truth; cbn.
      destruct (Nat.min_spec j k) as [[Hjk ->]|[Hjk ->]];
        [rewrite Nat.max_r by lia|rewrite Nat.max_l by lia]; destruct s, t, (T k i), (T j i); reflexivity.
Qed.

(** * Temporal operators *)
Definition step_truth (back : bool) (f : nat -> bool) (i : nat) : bool :=
  if back then (1 <? i) && f (i - 1) else (i <? n) && f (i + 1).
Lemma make_step_ok back F P : means F P -> gives (make_step letters beyond table back F) (step_truth back P).
Proof.
  intro HF; unfold make_step, step_truth; destruct (is_constant letters false F) eqn:E1;
    [|destruct (is_constant letters true F) eqn:E2].
  - apply gives_form; intros i Hi; rewrite (constant_ok false i Hi); symmetry; destruct back.
    + destruct (Nat.ltb_spec 1 i); [|reflexivity]; apply (is_constant_ok _ _ _ E1 HF); lia.
    + destruct (Nat.ltb_spec i n); [|reflexivity]; apply (is_constant_ok _ _ _ E1 HF); lia.
  - apply gives_node; intros i Hi; destruct back; cbn [node_truth].
    + destruct (Nat.ltb_spec 1 i); [rewrite (is_constant_ok _ _ _ E2 HF) by lia|]; destruct (Nat.eqb_spec i 1); auto;
        lia.
    + destruct (Nat.ltb_spec i n); [rewrite (is_constant_ok _ _ _ E2 HF) by lia|]; destruct (Nat.eqb_spec i n); auto;
        lia.
  - destruct (resolve letters beyond table F) as [a|] eqn:E; [|apply gives_none]; apply gives_node; intros i Hi.
    pose proof (resolve_ok _ _ _ HF E) as K; destruct back; cbn [node_truth].
    + destruct (Nat.ltb_spec 1 i); [rewrite K by lia|]; destruct (P (i - 1)); reflexivity.
    + destruct (Nat.ltb_spec i n); [rewrite K by lia|]; destruct (P (i + 1)); reflexivity.
Qed.
Lemma reach_node_truth back a b i : node_truth n w T (reach_primitive back a b) i = reach_truth n back (truth T a)
  (truth T b) i.
Proof. destruct back; reflexivity. Qed.
Lemma reaches_ok back a b : reaches table back a b = true ->
  exists c, forall i, 1 <= i <= n -> truth T b i = reach_truth n back (truth T a) (truth T c) i.
Proof.
  unfold reaches; destruct b as [k [|]]; cbn [negb snd fst andb]; [discriminate|].
  destruct (nth_error table k) as [[F [[[|] d]|]]|] eqn:He; try discriminate.
  destruct (Htable _ _ He) as [_ K]; specialize (K false d eq_refl).
  destruct d as [| | | | | | | | |a' c|a' c| |]; try discriminate; intro H; apply andb_prop in H; destruct H as [Hb Ha];
    apply lit_eqb_ok in Ha; subst a'; exists c; intros i Hi; unfold truth at 1; cbn [fst snd]; rewrite K by exact Hi;
    destruct back; try discriminate; rewrite !xorb_false_l; reflexivity.
Qed.
Lemma make_reach_ok back F G P Q : denotes F P -> means G Q ->
  gives (make_reach letters beyond table back F G) (reach_truth n back P Q).
Proof.
  intros HF HG; unfold make_reach.
  destruct (is_constant letters true G || is_constant letters false G) eqn:E.
  - apply gives_form; intros i Hi; rewrite (HG i Hi); symmetry.
    apply orb_prop in E; destruct E as [E|E]; pose proof (is_constant_ok _ _ _ E HG) as K;
      exact (proj1 (reach_right n back P Q i Hi) _ K).
  - destruct F as [F|]; [|apply gives_none]; specialize (HF F eq_refl); clear E.
    destruct (is_constant letters false F || same_form F G) eqn:E.
    + apply gives_form; intros i Hi; rewrite (HG i Hi); symmetry; apply orb_prop in E; destruct E as [E|E].
      * exact (proj1 (proj2 (reach_right n back P Q i Hi)) (is_constant_ok _ _ _ E HF)).
      * apply (reach_right n back P Q i Hi); intros j Hj; apply same_form_ok in E; subst G.
        rewrite <- (HF j Hj), <- (HG j Hj); reflexivity.
    + destruct (resolve letters beyond table F) as [a|] eqn:EF; [|apply gives_none].
      destruct (resolve letters beyond table G) as [b|] eqn:EG; [|apply gives_none].
      pose proof (resolve_ok _ _ _ HF EF) as KF; pose proof (resolve_ok _ _ _ HG EG) as KG.
      destruct (reaches table back a b) eqn:Er; [apply gives_form|apply gives_node]; intros i Hi.
      * destruct (reaches_ok _ _ _ Er) as [c Hc]; rewrite (HG i Hi); symmetry.
        apply reach_again with (g := truth T c); [exact Hi|]; intros j Hj; rewrite <- KG, Hc by exact Hj.
        apply reach_ext; auto.
      * rewrite reach_node_truth, xorb_false_l; apply reach_ext; auto.
Qed.
Lemma step_denotes back F P : denotes F P -> denotes (step letters beyond table back F) (step_truth back P).
Proof.
  intro H; apply finish_ok; destruct F as [F|]; [apply make_step_ok, H; reflexivity|apply gives_none].
Qed.
Lemma reach_denotes back F G P Q : denotes F P -> denotes G Q ->
  denotes (reach letters beyond table back F G) (reach_truth n back P Q).
Proof.
  intros HF HG; apply finish_ok; destruct G as [G|]; [apply make_reach_ok; auto|apply gives_none].
Qed.

(** * Linear terms and inequalities *)
Definition side_count (s : side) (P : nat -> bool) (i : nat) : Z :=
  match s with Before => number 1 i P | After => number i n P | Everywhere => number 1 n P end.
Definition denotes_linear (o : option linear) (V : nat -> Z) : Prop :=
  forall L, o = Some L -> forall i, 1 <= i <= n -> linear_at n T i L = V i.
Lemma side_count_ext s P Q i : (forall j, 1 <= j <= n -> P j = Q j) -> 1 <= i <= n ->
  side_count s P i = side_count s Q i.
Proof. intros H Hi; destruct s; apply number_equal; intros j Hj; apply H; lia. Qed.
Lemma count_linear_ok s F P : means F P -> denotes_linear (count_linear letters beyond table s F) (side_count s P).
Proof.
  intros HF L H i Hi; unfold count_linear in H; destruct (is_constant letters false F) eqn:E.
  - injection H as <-; pose proof (is_constant_ok _ _ _ E HF) as K; unfold linear_at; cbn; symmetry.
    destruct s; apply number_none; intros j Hj; apply K; lia.
  - destruct (resolve letters beyond table F) as [l|] eqn:El; [|discriminate]; injection H as <-.
    unfold linear_at; cbn [fst snd]; rewrite linear_cons; cbn [fst snd]; unfold linear_value; cbn [fold_right].
    pose proof (resolve_ok _ _ _ HF El) as K; rewrite <- (side_count_ext s _ _ i K Hi).
    destruct s; unfold count_value, side_count; cbn [fst snd]; lia.
Qed.
Lemma true_lit_ok i : 1 <= i <= n -> truth T (true_lit letters beyond table) i = true.
Proof.
  intro Hi; unfold true_lit; destruct (resolve letters beyond table (constant_form letters true)) as [l|] eqn:E.
  - exact (resolve_ok _ _ _ (constant_ok true) E i Hi).
  - unfold truth; cbn [fst snd]; rewrite beyond_false; reflexivity.
Qed.
Lemma position_ok i : 1 <= i <= n -> count_value n T (position_count letters beyond table) i = Z.of_nat i.
Proof.
  intro Hi; unfold position_count, count_value; cbn [fst snd]; rewrite number_all; [f_equal; lia|lia|].
  intros j Hj; apply true_lit_ok; lia.
Qed.
Lemma length_ok i : 1 <= i <= n -> count_value n T (Everywhere, true_lit letters beyond table) i = Z.of_nat n.
Proof.
  intro Hi; unfold count_value; cbn [fst snd]; rewrite number_all; [f_equal; lia|lia|].
  intros j Hj; apply true_lit_ok; lia.
Qed.
Lemma linear_of_terms_ok ts c :
  denotes_linear (linear_of_terms letters beyond table ts c) (fun i => linear_value n T ts i + c)%Z.
Proof.
  induction ts as [|[z [s l]] ts IH]; intros L H i Hi; cbn [linear_of_terms] in H.
  - injection H as <-; reflexivity.
  - destruct (form_of_lit letters table l) as [F|] eqn:EF; [|discriminate]; cbn [bind_option] in H.
    pose proof (count_linear_ok s F _ (form_of_lit_ok l F EF)) as K.
    destruct (count_linear letters beyond table s F) as [M|]; [|discriminate].
    destruct (linear_of_terms letters beyond table ts c) as [M'|]; [|discriminate].
    injection H as <-; rewrite add_linear_ok, scale_linear_ok, (K M eq_refl i Hi), (IH M' eq_refl i Hi), linear_cons.
    cbn [fst snd]; replace (count_value n T (s, l) i) with (side_count s (truth T l) i) by (destruct s; reflexivity);
      lia.
Qed.
Lemma positive_count_ok s k i : 1 <= i <= n ->
  outcome_truth (positive_count letters beyond table s k) i = xorb s (0 <? count_value n T k i)%Z.
Proof.
  intro Hi; unfold positive_count; destruct (count_eqb _ _) eqn:E.
  - apply count_eqb_ok in E; destruct k as [d l]; cbn [fst] in E; injection E as ->; cbn [outcome_truth].
    rewrite (constant_ok (negb s) i Hi); assert (0 <? count_value n T (d, true_lit letters beyond table) i = true)%Z as ->.
    { apply Z.ltb_lt; unfold count_value; cbn [fst snd]; destruct d; rewrite number_all;
        try lia; intros j Hj; apply true_lit_ok; lia. }
    destruct s; reflexivity.
  - cbn [outcome_truth node_truth]; f_equal; rewrite linear_cons; cbn [fst snd]; unfold linear_value; cbn [fold_right].
    apply bool_eq; rewrite Z.leb_le, Z.ltb_lt; lia.
Qed.
Lemma make_at_least_ok L V : (forall i, 1 <= i <= n -> linear_at n T i L = V i) ->
  gives (Some (make_at_least letters beyond table L)) (fun i => 0 <=? V i)%Z.
Proof.
  intros HL r Hr i Hi; injection Hr as <-; rewrite <- (HL i Hi), <- divided_ok; unfold make_at_least.
  destruct (divided L) as [ts c]; unfold linear_at; cbn [fst snd].
  destruct (forallb _ ts && (0 <=? c)%Z) eqn:Elow; [|clear Elow; destruct (forallb _ ts && (c <? 0)%Z) eqn:E].
  - apply andb_prop in Elow; destruct Elow as [Ht Hc]; apply (linear_not_negative n T i) in Ht; apply Z.leb_le in Hc.
    cbn [outcome_truth]; rewrite (constant_ok true i Hi); symmetry; apply Z.leb_le; lia.
  - apply andb_prop in E; destruct E as [Ht Hc]; apply (linear_not_positive n T i) in Ht; apply Z.ltb_lt in Hc.
    cbn [outcome_truth]; rewrite (constant_ok false i Hi); symmetry; apply Z.leb_gt; lia.
  - assert (outcome_truth (Primitive false (NAtLeast ts c)) i = (0 <=? linear_value n T ts i + c)%Z) as Itself
      by apply xorb_false_l.
    destruct ts as [|[z k] [|]]; [exact Itself| |exact Itself].
    destruct (Z.eqb z 1 && Z.eqb c (-1)) eqn:Some1; [|destruct (Z.eqb z (-1) && Z.eqb c 0) eqn:None1; [|exact Itself]].
    all: clear Itself; rewrite positive_count_ok, linear_cons by exact Hi; cbn [fst snd]; unfold linear_value;
      cbn [fold_right]; apply bool_eq.
    + apply andb_prop in Some1; destruct Some1 as [Hz Hc]; apply Z.eqb_eq in Hz, Hc; subst z c.
      rewrite xorb_false_l, Z.ltb_lt, Z.leb_le; lia.
    + apply andb_prop in None1; destruct None1 as [Hz Hc]; apply Z.eqb_eq in Hz, Hc; subst z c.
      rewrite xorb_true_l, negb_true_iff, Z.ltb_ge, Z.leb_le; lia.
Qed.
Lemma at_least_ok L V : (forall i, 1 <= i <= n -> linear_at n T i L = V i) ->
  denotes (at_least letters beyond table L) (fun i => 0 <=? V i)%Z.
Proof. intro H; apply finish_ok, make_at_least_ok, H. Qed.

(** * Numerical predicates *)
Lemma node_on_ok k c i : 1 <= i <= n ->
  outcome_truth (node_on letters beyond table k c) i = condition_holds (count_value n T k i) (Z.of_nat n) c.
Proof.
  intro Hi; unfold node_on; destruct (count_eqb k (Everywhere, true_lit letters beyond table)) eqn:El.
  - apply count_eqb_ok in El; subst k; rewrite length_ok by exact Hi.
    pose proof (canonical_ok (Z.of_nat i) (Z.of_nat n) (condition_at Len c)) as K; rewrite condition_at_ok in K;
      cbn in K.
    destruct (canonical (condition_at Len c)) as [d|b]; cbn [orb outcome_truth node_truth]; rewrite K;
      [|apply (constant_ok b i Hi)]; apply xorb_false_l.
  - pose proof (canonical_ok (count_value n T k i) (Z.of_nat n) c) as K.
    destruct (canonical c) as [d|b]; cbn [orb outcome_truth]; [|rewrite K; apply (constant_ok b i Hi)].
    destruct (count_eqb k (position_count letters beyond table)) eqn:Ep; cbn [node_truth]; rewrite xorb_false_l;
      [|exact K].
    apply count_eqb_ok in Ep; subst k; rewrite position_ok in * by exact Hi; exact K.
Qed.
Lemma make_numeric_ok c k s o : gives (Some (make_numeric letters beyond table c k s o))
  (fun i => condition_holds (s * count_value n T k i + o) (Z.of_nat n) c).
Proof.
  intros r Hr i Hi; injection Hr as <-; unfold make_numeric; rewrite node_on_ok, condition_at_ok,
    affine_integer_value by exact Hi.
  f_equal; lia.
Qed.
Lemma remainder_ok k m s r :
  denotes (remainder letters beyond table k m s r) (fun i => (s * count_value n T k i) mod m =? r)%Z.
Proof.
  eapply denotes_ext; [apply finish_ok, make_numeric_ok|]; intros i _; cbn [condition_holds integer_value].
  rewrite Z.add_0_r; reflexivity.
Qed.
Lemma some_residue_ok (fs : Z -> option form) (P : Z -> nat -> bool) vs : (forall v, In v vs -> denotes (fs v) (P v)) ->
  denotes (fold_right (fun v F => either letters beyond table (fs v) F) (Some (constant_form letters false)) vs)
    (fun i => existsb (fun v => P v i) vs).
Proof.
  induction vs as [|v vs IH]; intro H; cbn [fold_right existsb]; [apply denotes_some, constant_ok|].
  apply either_ok; [apply H; left; reflexivity|apply IH; intros u Hu; apply H; right; exact Hu].
Qed.
Lemma congruences_ok m ts : forall t, (0 <= t < m)%Z ->
  denotes (at_residue (congruences letters beyond table m ts) t) (fun i => linear_value n T ts i mod m =? t)%Z.
Proof.
  induction ts as [|[z k] ts IH]; intros t Ht.
  - cbn [congruences]; rewrite (at_residue_map (fun t => Some (constant_form letters (t =? 0)%Z))) by exact Ht.
    eapply denotes_ext; [apply denotes_some, constant_ok|]; intros i _; unfold linear_value; cbn [fold_right].
    rewrite Zmod_0_l; apply Z.eqb_sym.
  - assert (denotes (at_residue (map (fun t => fold_right (fun v F => either letters beyond table
        (both letters beyond table (at_residue (map (remainder letters beyond table k m 1) (residues m)) v)
          (at_residue (congruences letters beyond table m ts) ((t - z * v) mod m))) F)
        (Some (constant_form letters false)) (residues m)) (residues m)) t)
        (fun i => linear_value n T ((z, k) :: ts) i mod m =? t)%Z) as several.
    { rewrite (at_residue_map (fun t => fold_right _ _ _)) by exact Ht.
      eapply denotes_ext; [apply some_residue_ok; intros v Hv; apply in_residues in Hv; apply both_ok;
        [rewrite at_residue_map by exact Hv; apply remainder_ok|apply IH, Z.mod_pos_bound; lia]|].
      intros i _; cbn beta; rewrite linear_cons; cbn [fst snd]; rewrite <- split_congruence by exact Ht.
      rewrite Z.mul_1_l; reflexivity. }
    destruct ts as [|u ts]; [clear several|exact several].
    cbn [congruences]; rewrite at_residue_map by exact Ht; eapply denotes_ext; [apply remainder_ok|].
    intros i _; cbn beta; rewrite linear_cons; cbn [fst snd]; unfold linear_value; cbn [fold_right];
      rewrite Z.add_0_r; reflexivity.
Qed.
Lemma congruent_ok m r L V : (0 < m)%Z -> (forall i, 1 <= i <= n -> linear_at n T i L = V i) ->
  denotes (congruent letters beyond table m r L) (fun i => V i mod m =? r mod m)%Z.
Proof.
  intros Hm HL; unfold congruent; destruct (m <=? LARGEST_MODULUS)%Z; [|apply denotes_none].
  eapply denotes_ext; [apply congruences_ok, Z.mod_pos_bound, Hm|]; intros i Hi; cbn beta.
  rewrite filter_mod, <- (HL i Hi); symmetry; apply mod_shift; lia.
Qed.
Lemma numeric_ok c L V : (forall i, 1 <= i <= n -> linear_at n T i L = V i) ->
  denotes (numeric letters beyond table c L) (fun i => condition_holds (V i) (Z.of_nat n) c).
Proof.
  intro HL; destruct L as [[|[s k] [|t ts]] o]; cbn [numeric].
  - eapply denotes_ext; [apply finish_ok, make_numeric_ok|]; intros i Hi; rewrite <- (HL i Hi); reflexivity.
  - eapply denotes_ext; [apply finish_ok, make_numeric_ok|]; intros i Hi; rewrite <- (HL i Hi).
    unfold linear_at; cbn [fst snd]; rewrite linear_cons; cbn [fst snd]; unfold linear_value; cbn [fold_right];
      f_equal; lia.
  - destruct (remainder_of c) as [[[[[m r] z] t'] o']|] eqn:E; [|apply denotes_none].
    destruct (Z.eqb_spec t' 0) as [->|_]; [|apply denotes_none].
    eapply denotes_ext; [apply congruent_ok with (V := fun i => (z * V i)%Z)|].
    + apply (remainder_of_ok 0 0) in E; lia.
    + intros i Hi; rewrite scale_linear_ok, HL by exact Hi; reflexivity.
    + intros i Hi; cbn beta; destruct (remainder_of_ok (V i) (Z.of_nat n) _ _ _ _ _ _ E) as [Hr ->].
      rewrite <- (Z.mod_small r m Hr) at 2; rewrite Z.mul_0_l, Z.add_0_r.
      destruct (Z.eqb_spec ((z * V i) mod m) ((r - o') mod m)) as [Eq|Ne]; symmetry; rewrite mod_shift by lia.
      * apply Z.eqb_eq, Eq.
      * apply Z.eqb_neq, Ne.
Qed.

(** * Nodes of the table *)
Lemma outcome_of_node_ok d : gives (outcome_of_node letters beyond table d) (node_truth n w T d).
Proof.
  destruct d as [s| | | |c|ls|a b|a|a|a b|a b|ts c|c [s l]]; cbn [outcome_of_node].
  - destruct (Nat.eq_dec letters 0) as [E|E].
    + rewrite E; apply gives_node; intros i _; apply xorb_false_l.
    + assert (means (symbols_form (symbol_set letters s)) (node_truth n w T (NLetters s))) as K.
      { intros i Hi; unfold symbols_form, form_truth; cbn [forallb]; rewrite symbol_set_ok, andb_true_r by assumption.
        apply xorb_false_l. }
      destruct letters; [contradiction|apply gives_form, K].
  - apply gives_node; intros; apply xorb_false_l.
  - apply gives_node; intros; apply xorb_false_l.
  - apply gives_node; intros; apply xorb_false_l.
  - intros r Hr i Hi; rewrite (make_numeric_ok _ _ _ _ r Hr i Hi), position_ok by exact Hi; cbn [node_truth]; f_equal;
      lia.
  - assert (denotes (fold_right (fun l F => both letters beyond table (form_of_lit letters table l) F)
      (Some (constant_form letters true)) ls) (node_truth n w T (NAnd ls))) as K.
    { induction ls as [|l ls IH]; cbn [fold_right]; [apply denotes_some, constant_ok|].
      eapply denotes_ext; [apply both_ok; [apply form_of_lit_ok|exact IH]|]; reflexivity. }
    destruct (fold_right _ _ ls) as [F|]; [apply gives_form, K; reflexivity|apply gives_none].
  - pose proof (form_of_lit_ok a) as Ha; pose proof (form_of_lit_ok b) as Hb.
    destruct (form_of_lit letters table a) as [F|]; [|apply gives_none].
    destruct (form_of_lit letters table b) as [G|]; [|apply gives_none].
    apply make_xor_ok; auto.
  - pose proof (form_of_lit_ok a) as Ha; destruct (form_of_lit letters table a) as [F|]; [|apply gives_none].
    apply (make_step_ok true), Ha; reflexivity.
  - pose proof (form_of_lit_ok a) as Ha; destruct (form_of_lit letters table a) as [F|]; [|apply gives_none].
    apply (make_step_ok false), Ha; reflexivity.
  - pose proof (form_of_lit_ok b) as Hb; destruct (form_of_lit letters table b) as [G|]; [|apply gives_none].
    apply (make_reach_ok true); [apply form_of_lit_ok|apply Hb; reflexivity].
  - pose proof (form_of_lit_ok b) as Hb; destruct (form_of_lit letters table b) as [G|]; [|apply gives_none].
    apply (make_reach_ok false); [apply form_of_lit_ok|apply Hb; reflexivity].
  - pose proof (linear_of_terms_ok ts c) as K; destruct (linear_of_terms letters beyond table ts c) as [L|];
      [|apply gives_none].
    apply make_at_least_ok, K; reflexivity.
  - destruct (form_of_lit letters table l) as [F|] eqn:EF; [|apply gives_none]; cbn [bind_option].
    pose proof (count_linear_ok s F _ (form_of_lit_ok l F EF)) as K.
    destruct (count_linear letters beyond table s F) as [[[|[z k] [|]] o]|]; try apply gives_none.
    intros r Hr i Hi; rewrite (make_numeric_ok _ _ _ _ r Hr i Hi); cbn [node_truth].
    specialize (K _ eq_refl i Hi); unfold linear_at in K; cbn [fst snd] in K; rewrite linear_cons in K;
      cbn [fst snd] in K.
    unfold linear_value in K; cbn [fold_right] in K.
    replace (count_value n T (s, l) i) with (side_count s (truth T l) i) by (destruct s; reflexivity); f_equal; lia.
Qed.
Lemma index_node_ok d : (forall i, 1 <= i <= n -> T (length table) i = node_truth n w T d i) ->
  indexed_ok (length table) (index_node letters beyond table d).
Proof.
  intro Hd; unfold index_node; pose proof (outcome_of_node_ok d) as K.
  assert (means (lit_form letters (length table, false)) (T (length table))) as itself.
  { intros i Hi; rewrite (lit_form_ok _ i Hi); apply xorb_false_l. }
  destruct (outcome_of_node letters beyond table d) as [[F|s d']|].
  - split; cbn; [|discriminate]; intros i Hi; rewrite Hd by exact Hi; apply (K _ eq_refl i Hi).
  - destruct (find_node table d') as [[k s']|] eqn:E; (split; cbn [form_of_node key]; [|]); try discriminate; auto.
    + intros i Hi; rewrite (lit_form_ok _ i Hi), Hd, <- (K _ eq_refl i Hi) by exact Hi; cbn; unfold truth; cbn.
      rewrite (find_node_ok _ _ _ E i Hi); destruct s, s', (node_truth n w T d' i); reflexivity.
    + intros t e He i Hi; injection He as <- <-; rewrite Hd by exact Hi; symmetry; apply (K _ eq_refl i Hi).
  - split; cbn; [exact itself|discriminate].
Qed.

(** * Formulas *)
Scheme formula_terms := Induction for formula Sort Prop with term_formulas := Induction for term Sort Prop.
Combined Scheme formula_and_term from formula_terms, term_formulas.
Lemma once_ok back P i : 1 <= i <= n ->
  reach_truth n back (fun _ => true) P i = if back then some 1 i P else some i n P.
Proof.
  intro Hi; apply bool_eq; rewrite reach_true by lia; destruct back; rewrite some_iff; split.
  - intros [j [Hj [HP _]]]; exists j; auto.
  - intros [j [Hj HP]]; exists j; auto.
  - intros [j [Hj [HP _]]]; exists j; auto.
  - intros [j [Hj HP]]; exists j; auto.
Qed.
Lemma dual_ok back P Q i : 1 <= i <= n ->
  negb (reach_truth n back (fun j => negb (P j)) (fun j => negb (Q j)) i) =
  if back then every 1 i (fun j => Q j || some (j + 1) i P) else every i n (fun j => Q j || some i (j - 1) P).
Proof.
  intro Hi; unfold reach_truth; destruct back; rewrite some_negb; f_equal; apply some_ext; intros j Hj;
    rewrite negb_orb, some_negb; do 2 f_equal; apply some_ext; intros k Hk; apply negb_involutive.
Qed.
Lemma weak_until_ok f g i : 1 <= i <= n ->
  negb (reach_truth n false (fun j => negb (g j)) (fun j => negb (f j) && negb (g j)) i) =
  every i n f || some i n (fun j => g j && every i (j - 1) f).
Proof.
  intro Hi; apply bool_eq; rewrite negb_true_iff, <- not_true_iff_false, reach_true by lia; split.
  - intro H; apply orb_true_iff; destruct (every i n f) eqn:E; [left; reflexivity|right].
    rewrite some_negb in E; apply negb_false_iff, some_iff in E; destruct E as [k [Hk Ek]].
    (* the first position from i on where f fails; g holds there or before it *)
    assert (forall m, m <= k -> i <= m -> every i (m - 1) f = true ->
      exists j, i <= j <= k /\ every i (j - 1) f = true /\ f j = false) as least.
    { intros m; remember (k - m) as d eqn:Hd; revert m Hd; induction d as [|d IH]; intros m Hd Hm Him Hf.
      - assert (m = k) as -> by lia; exists k; repeat split; auto; try lia; destruct (f k); auto; discriminate.
      - destruct (f m) eqn:Em; [|exists m; repeat split; auto; lia].
        apply (IH (S m)); try lia; apply every_iff; intros x Hx; destruct (Nat.eq_dec x m) as [->|Hxm]; [exact Em|].
        rewrite every_iff in Hf; apply Hf; lia. }
    destruct (least i) as [j [Hj [Hf Fj]]]; [lia|lia|apply every_iff; intros; lia|].
    destruct (some i j g) eqn:G.
    + apply some_iff in G; destruct G as [x [Hx Gx]]; apply some_iff; exists x; split; [lia|]; rewrite Gx.
      apply every_iff; intros y Hy; rewrite every_iff in Hf; apply Hf; lia.
    + exfalso; apply H; exists j; rewrite Fj; apply not_true_iff_false in G; rewrite some_iff in G.
      assert (forall x, i <= x <= j -> g x = false) as N.
      { intros x Hx; apply not_true_iff_false; intro Gx; apply G; exists x; auto. }
      rewrite N by lia; repeat split; auto; try lia; intros x Hx; rewrite N by lia; reflexivity.
  - intros H [j [Hj [Hn Hg]]]; apply andb_prop in Hn; destruct Hn as [Fj Gj]; apply negb_true_iff in Fj, Gj.
    apply orb_prop in H; destruct H as [H|H].
    + rewrite every_iff in H; rewrite H in Fj by lia; discriminate.
    + apply some_iff in H; destruct H as [k [Hk H]]; apply andb_prop in H; destruct H as [Gk Hf].
      rewrite every_iff in Hf; destruct (le_lt_dec k j) as [Hkj|Hkj]; [|rewrite Hf in Fj by lia; discriminate].
      destruct (Nat.eq_dec k j) as [->|Hne]; [congruence|]; specialize (Hg k); rewrite Gk in Hg; discriminate Hg; lia.
Qed.
Lemma strong_release_ok f g i : 1 <= i <= n ->
  reach_truth n false g (fun j => f j && g j) i = some i n (fun j => f j && every i j g).
Proof.
  intro Hi; apply some_ext; intros j Hj; rewrite <- andb_assoc; f_equal; apply bool_eq.
  rewrite andb_true_iff, !every_iff; split.
  - intros [Gj H] k Hk; destruct (Nat.eq_dec k j) as [->|]; [exact Gj|apply H; lia].
  - intro H; split; [|intros k Hk]; apply H; lia.
Qed.

Definition formula_correct (f : formula) : Prop := denotes (translated letters beyond table f) (holds n w f).
Definition term_correct (t : term) : Prop := denotes_linear (translated_term letters beyond table t) (value n w t).
Lemma count_correct s o P : denotes o P ->
  denotes_linear (bind_option (count_linear letters beyond table s) o) (side_count s P).
Proof. intro H; destruct o as [F|]; [apply count_linear_ok, H; reflexivity|discriminate]. Qed.
Lemma xor_correct o o' P Q : denotes o P -> denotes o' Q ->
  denotes (finish letters table (match o, o' with Some F, Some G => make_xor letters beyond table F G | _,
    _ => None end))
    (fun i => xorb (P i) (Q i)).
Proof.
  intros Hf Hg; apply finish_ok; destruct o as [F|]; [|apply gives_none]; destruct o' as [G|]; [|apply gives_none].
  apply make_xor_ok; auto.
Qed.
Lemma numeric_correct c o V : denotes_linear o V ->
  denotes (bind_option (numeric letters beyond table c) o) (fun i => condition_holds (V i) (Z.of_nat n) c).
Proof. intro H; destruct o as [L|]; [apply (numeric_ok c L), H; reflexivity|apply denotes_none]. Qed.
Lemma plus_correct o o' U V : denotes_linear o U -> denotes_linear o' V ->
  denotes_linear (match o, o' with Some L, Some M => Some (add_linear L M) | _, _ => None end) (fun i => U i + V i)%Z.
Proof.
  intros HU HV L H i Hi; destruct o as [A|]; [|discriminate]; destruct o' as [B|]; [|discriminate]; injection H as <-.
  rewrite add_linear_ok, (HU A eq_refl i Hi), (HV B eq_refl i Hi); reflexivity.
Qed.
Lemma times_correct z o V : denotes_linear o V -> denotes_linear (map_option (scale_linear z) o) (fun i => z * V i)%Z.
Proof.
  intros HV L H i Hi; destruct o as [A|]; [|discriminate]; injection H as <-.
  rewrite scale_linear_ok, (HV A eq_refl i Hi); reflexivity.
Qed.
Lemma difference_ok L M U V : (forall i, 1 <= i <= n -> linear_at n T i L = U i) ->
  (forall i, 1 <= i <= n -> linear_at n T i M = V i) ->
  denotes (at_least letters beyond table (add_linear M (scale_linear (-1) L))) (fun i => U i <=? V i)%Z.
Proof.
  intros HL HM; eapply denotes_ext; [apply at_least_ok with (V := fun i => (V i - U i)%Z)|].
  - intros i Hi; rewrite add_linear_ok, scale_linear_ok, HL, HM by exact Hi; lia.
  - intros i _; cbn beta; apply bool_eq; rewrite !Z.leb_le; lia.
Qed.
Lemma at_most_correct o o' U V : denotes_linear o U -> denotes_linear o' V ->
  denotes (match o, o' with
    Some L, Some M => at_least letters beyond table (add_linear M (scale_linear (-1) L)) | _, _ => None end)
    (fun i => U i <=? V i)%Z.
Proof.
  intros HU HV; destruct o as [L|]; [|apply denotes_none]; destruct o' as [M|]; [|apply denotes_none].
  apply difference_ok; auto.
Qed.
Lemma equal_correct o o' U V : denotes_linear o U -> denotes_linear o' V ->
  denotes (match o, o' with
    Some L, Some M => both letters beyond table (at_least letters beyond table (add_linear M (scale_linear (-1) L)))
      (at_least letters beyond table (add_linear L (scale_linear (-1) M))) | _, _ => None end)
    (fun i => U i =? V i)%Z.
Proof.
  intros HU HV; destruct o as [L|]; [|apply denotes_none]; destruct o' as [M|]; [|apply denotes_none].
  specialize (HU L eq_refl); specialize (HV M eq_refl).
  eapply denotes_ext; [apply both_ok; [apply (difference_ok L M _ _ HU HV)|apply (difference_ok M L _ _ HV HU)]|].
  intros i _; apply bool_eq; rewrite andb_true_iff, !Z.leb_le, Z.eqb_eq; lia.
Qed.
Lemma true_correct : denotes (Some (constant_form letters true)) (fun _ => true).
Proof. apply denotes_some, constant_ok. Qed.
Lemma translated_ok : (forall f, formula_correct f) /\ (forall t, term_correct t).
Proof.
  apply formula_and_term; unfold formula_correct, term_correct.
  - intro b; apply denotes_some, constant_ok.
  - intro a; eapply denotes_ext; [apply finish_ok, outcome_of_node_ok|]; intros i _; cbn; apply orb_false_r.
  - eapply denotes_ext; [apply finish_ok, (gives_node false NFirst); intros; apply xorb_false_l|]; reflexivity.
  - eapply denotes_ext; [apply finish_ok, (gives_node false NLast); intros; apply xorb_false_l|]; reflexivity.
  - intros c t Ht; apply (numeric_correct c), Ht.
  - intros f Hf; apply negation_ok, Hf.
  - intros f Hf g Hg; apply both_ok; assumption.
  - intros f Hf g Hg; apply either_ok; assumption.
  - intros f Hf g Hg; apply xor_correct; assumption.
  - intros f Hf g Hg; apply either_ok; [apply negation_ok|]; assumption.
  - intros f Hf g Hg; eapply denotes_ext; [apply negation_ok, xor_correct; eassumption|].
    intros i _; cbn; destruct (holds n w f i), (holds n w g i); reflexivity.
  - intros f Hf; apply (step_denotes true), Hf.
  - intros f Hf; eapply denotes_ext; [apply negation_ok, (step_denotes true), negation_ok, Hf|].
    intros i Hi; cbn [step_truth holds]; destruct (Nat.ltb_spec 1 i), (Nat.eqb_spec i 1); try lia; cbn [andb orb];
      first [apply negb_involutive|reflexivity].
  - intros f Hf; eapply denotes_ext; [apply (reach_denotes true); [apply true_correct|exact Hf]|]; apply (once_ok true).
  - intros f Hf; eapply denotes_ext; [apply negation_ok, (reach_denotes true);
      [apply true_correct|apply negation_ok, Hf]|].
    intros i Hi; cbn [holds]; rewrite (once_ok true), some_negb by exact Hi; reflexivity.
  - intros f Hf g Hg; apply (reach_denotes true); assumption.
  - intros f Hf g Hg; eapply denotes_ext; [apply negation_ok, (reach_denotes true); apply negation_ok; eassumption|].
    apply (dual_ok true).
  - intros f Hf; apply (step_denotes false), Hf.
  - intros f Hf; eapply denotes_ext; [apply negation_ok, (step_denotes false), negation_ok, Hf|].
    intros i Hi; cbn [step_truth holds]; destruct (Nat.ltb_spec i n), (Nat.eqb_spec i n); try lia; cbn [andb orb];
      first [apply negb_involutive|reflexivity].
  - intros f Hf; eapply denotes_ext; [apply (reach_denotes false); [apply true_correct|exact Hf]|];
      apply (once_ok false).
  - intros f Hf; eapply denotes_ext; [apply negation_ok, (reach_denotes false);
      [apply true_correct|apply negation_ok, Hf]|].
    intros i Hi; cbn [holds]; rewrite (once_ok false), some_negb by exact Hi; reflexivity.
  - intros f Hf g Hg; apply (reach_denotes false); assumption.
  - intros f Hf g Hg; eapply denotes_ext; [apply negation_ok, (reach_denotes false); apply negation_ok; eassumption|].
    apply (dual_ok false).
  - intros f Hf g Hg; eapply denotes_ext; [apply negation_ok, (reach_denotes false); [|apply both_ok];
      apply negation_ok; eassumption|].
    apply weak_until_ok.
  - intros f Hf g Hg; eapply denotes_ext; [apply (reach_denotes false); [|apply both_ok]; eassumption|].
    apply strong_release_ok.
  - intros s Hs t Ht; apply at_most_correct; assumption.
  - intros s Hs t Ht; apply equal_correct; assumption.
  - intros z L H i Hi; injection H as <-; reflexivity.
  - intros L H i Hi; injection H as <-; unfold linear_at; cbn [fst snd]; rewrite linear_cons; cbn [fst snd].
    rewrite position_ok by exact Hi; unfold linear_value; cbn [fold_right value]; lia.
  - intros L H i Hi; injection H as <-; unfold linear_at; cbn [fst snd]; rewrite linear_cons; cbn [fst snd].
    rewrite length_ok by exact Hi; unfold linear_value; cbn [fold_right value]; lia.
  - intros f Hf; apply (count_correct Before), Hf.
  - intros f Hf; apply (count_correct After), Hf.
  - intros f Hf; apply (count_correct Everywhere), Hf.
  - intros s Hs t Ht; apply plus_correct; assumption.
  - intros z t Ht; apply times_correct, Ht.
Qed.

End Sound.

(** * The theorems *)
Section Correct.
Variables (n : nat) (w : nat -> symbol) (letters : nat) (ns : list node) (T : nat -> nat -> bool).
Hypothesis HT : model n w ns T.
Hypothesis Hw : letters <> 0 -> forall i, 1 <= i <= n -> exists c, c < letters /\ w i = letter c.
Lemma index_table_ok k e : nth_error (index_table letters ns) k = Some e -> indexed_ok n w letters T k e.
Proof.
  unfold index_table.
  assert (forall rest table, (forall k d, nth_error rest k = Some d -> node_at ns (length table + k) = d) ->
    (forall k e, nth_error table k = Some e -> indexed_ok n w letters T k e) ->
    forall k e, nth_error (fold_left (fun table d => table ++ [index_node letters (length ns) table d]) rest table) k
      = Some e ->
    indexed_ok n w letters T k e) as K.
  { intro rest; induction rest as [|d rest IH]; intros table Hrest Htable; [exact Htable|]; cbn [fold_left]; apply IH.
    - intros j d' Hj; rewrite app_length, <- Nat.add_assoc; exact (Hrest (S j) d' Hj).
    - intros j a Ha; destruct (Nat.lt_ge_cases j (length table)) as [Hj|Hj].
      + rewrite nth_error_app1 in Ha by exact Hj; auto.
      + rewrite nth_error_app2 in Ha by exact Hj; destruct (j - length table) as [|r] eqn:E; [|destruct r;
          discriminate].
        injection Ha as <-; replace j with (length table) by lia; apply index_node_ok; auto.
        intros i _; rewrite HT, <- (Hrest 0 d eq_refl), Nat.add_0_r; reflexivity. }
  apply (K ns []); [|intros j a Ha; destruct j; discriminate].
  intros j d Hj; apply nth_error_nth, Hj.
Qed.
Theorem translate_ok f l i : 1 <= i <= n -> translate letters ns f = Some l -> truth T l i = holds n w f i.
Proof.
  intros Hi H; unfold translate in H; pose proof index_table_ok as Htable; set (table := index_table letters ns) in *.
  destruct (translated letters (length ns) table f) as [F|] eqn:E; [|discriminate].
  apply (resolve_ok n w letters ns T HT Hw table Htable F (holds n w f) l); auto.
  exact (proj1 (translated_ok n w letters ns T HT Hw table Htable) f F E).
Qed.
Theorem translate_at_ok r f l : 1 <= n -> translate_at letters ns r f = Some l ->
  truth T l n = holds n w f (match r with AtFirst => 1 | AtLast => n end).
Proof.
  intros Hn H; unfold translate_at in H; apply translate_ok with (i := n) in H; [|lia]; rewrite H.
  destruct r; [|reflexivity]; cbn [holds]; apply bool_eq; rewrite some_iff; split.
  - intros [j [_ Hj]]; apply andb_prop in Hj; destruct Hj as [E Hf]; apply Nat.eqb_eq in E; subst j; exact Hf.
  - intro Hf; exists 1; split; [lia|exact Hf].
Qed.
End Correct.
