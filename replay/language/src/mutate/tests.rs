use proptest::prelude::*;

use super::*;

fn language(id: &str) -> &'static Language {
    Language::by_id(id).expect("the language is in the table")
}

/// Code with its range between two `$0`, or all of it.
fn fixture(code: &str) -> (String, Range<usize>) {
    let parts: Vec<&str> = code.split("$0").collect();
    match parts[..] {
        [all] => (all.to_owned(), 0..all.len()),
        [before, inside, _] => (parts.concat(), before.len()..before.len() + inside.len()),
        _ => panic!("a fixture has two marks or none"),
    }
}

/// Returns an operator's mutants of the code: for each mutant the lines that are new in it.
fn made(operator: MutationOperator, id: &str, code: &str) -> String {
    let (contents, range) = fixture(code);
    let language = language(id);
    assert!(language.parses(&contents), "the fixture does not parse");
    find_mutants(language, &contents, range)
        .into_iter()
        .filter(|mutant| mutant.operator == operator)
        .map(|mutant| {
            let text = mutant.edit.apply(&contents);
            let diff = similar::TextDiff::from_lines(&contents, &text);
            let new: Vec<&str> = diff
                .iter_all_changes()
                .filter(|change| change.tag() == similar::ChangeTag::Insert)
                .map(|change| change.value().trim())
                .collect();
            match new.is_empty() {
                true => "(nothing)\n".to_owned(),
                false => new.join(" ⏎ ") + "\n",
            }
        })
        .collect()
}

/// Returns the descriptions of an operator's mutants of the code.
fn described(operator: MutationOperator, id: &str, code: &str) -> String {
    let (contents, range) = fixture(code);
    find_mutants(language(id), &contents, range)
        .iter()
        .filter(|mutant| mutant.operator == operator)
        .map(|mutant| mutant.describe(&contents) + "\n")
        .collect()
}

fn python(operator: MutationOperator, code: &str) -> String {
    made(operator, "python", code)
}

fn typescript(operator: MutationOperator, code: &str) -> String {
    made(operator, "typescript", code)
}

#[test]
fn aor_in_python() {
    let code = "x = a + b - c\ny = a * b\nz = a / b // c % d ** e\nu = -a\nv = 'x' + +b\nw = a @ b\nx += 1\n";
    insta::assert_snapshot!(python(MutationOperator::Aor, code), @r"
x = a - b - c
x = a + b + c
y = a ** b
y = a / b
y = a // b
z = a * b // c % d ** e
z = a // b // c % d ** e
z = a / b * c % d ** e
z = a / b / c % d ** e
z = a / b // c * d ** e
z = a / b // c % (d * e)
u = +a
v = 'x' - +b
v = 'x' + -b
");
}

#[test]
fn aor_in_typescript() {
    let code = "x = a + b - c;\ny = a * b / c % d;\nz = a ** b;\nu = -a+-b;\nx += 1;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Aor, code), @r"
x = a - b - c;
x = a + b + c;
y = a ** b / c % d;
y = a / b / c % d;
y = a * b * c % d;
y = a * b / c * d;
z = a * b;
u = +a+-b;
u = -a- -b;
u = -a+ +b;
");
}

#[test]
fn operators_that_bind_otherwise_keep_their_operands() {
    let code = "x = a * b * c\ny = a * b ** c\nz = -a * f(b)[0]\nw = a ** b ** c\n";
    insta::assert_snapshot!(python(MutationOperator::Aor, code), @r"
x = (a * b) ** c
x = a ** b * c
x = a / b * c
x = a // b * c
x = a * b / c
x = a * b // c
y = a ** (b ** c)
y = a / b ** c
y = a // b ** c
y = a * (b * c)
z = (-a) ** f(b)[0]
z = +a * f(b)[0]
z = -a / f(b)[0]
z = -a // f(b)[0]
w = a * b ** c
w = a ** (b * c)
");
    let code = "x = -a * b;\ny = await a * b;\nz = (a * b as number) + 1;\nw = a * b * c;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Aor, code), @r"
x = (-a) ** b;
x = +a * b;
x = -a / b;
y = (await a) ** b;
y = (await a) / b;
z = ((a ** b) as number) + 1;
z = ((a / b) as number) + 1;
z = (a * b as number) - 1;
w = (a * b) ** c;
w = a ** b * c;
w = a / b * c;
w = a * b / c;
");
}

#[test]
fn asr_in_python() {
    let code = "a += 1\na -= 1\na *= 1\na /= 1\na //= 1\na %= 1\na **= 1\na @= 1\na |= 1\n";
    insta::assert_snapshot!(python(MutationOperator::Asr, code), @r"
a -= 1
a += 1
a **= 1
a //= 1
a /= 1
a *= 1
a //= 1
a *= 1
a /= 1
a *= 1
a *= 1
");
}

#[test]
fn asr_in_typescript() {
    let code = "a += 1;\na -= 1;\na *= 1;\na /= 1;\na %= 1;\na **= 1;\na ||= 1;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Asr, code), @r"
a -= 1;
a += 1;
a **= 1;
a /= 1;
a *= 1;
a *= 1;
a *= 1;
");
}

#[test]
fn bcr_in_python() {
    let code = "for x in y:\n    if x: break\n    if z:\n        continue\n    f()\n";
    insta::assert_snapshot!(python(MutationOperator::Bcr, code), @r"
if x: continue
break
");
}

#[test]
fn bcr_in_typescript() {
    let code = "outer: for (const x of y) {\n  switch (x) {\n    case 1: break;\n    case 2: continue;\n    default: continue outer;\n  }\n  break outer;\n}\nblock: {\n  break block;\n}\nswitch (z) {\n  case 1: break;\n}\nwhile (a) { b(() => { switch (c) { case 1: break; } }); }\n";
    insta::assert_snapshot!(typescript(MutationOperator::Bcr, code), @r"
case 1: continue;
case 2: break;
default: break outer;
continue outer;
");
}

#[test]
fn bod_in_python() {
    let code =
        "x = a + b * (c - d)\ny = a and not b\nz = a < b <= c\nif(a)or b: pass\nw = a not in b\n";
    insta::assert_snapshot!(python(MutationOperator::Bod, code), @r"
x = b * (c - d)
x = a
x = a + (c - d)
x = a + b
x = a + b * (d)
x = a + b * (c)
y = not b
y = a
z = b <= c
z = a < b
if b: pass
if(a): pass
w = b
w = a
");
}

#[test]
fn bod_in_typescript() {
    let code =
        "x = a + b * (c - d);\ny = a ?? (b || c);\nz = a < b;\nconst f = () => a || { b: 1 };\n";
    insta::assert_snapshot!(typescript(MutationOperator::Bod, code), @r"
x = b * (c - d);
x = a;
x = a + (c - d);
x = a + b;
x = a + b * (d);
x = a + b * (c);
y = (b || c);
y = a;
y = a ?? (c);
y = a ?? (b);
z = b;
z = a;
const f = () => ({ b: 1 });
const f = () => a;
");
}

#[test]
fn bod_within_a_hole_that_begins_with_the_operator() {
    insta::assert_snapshot!(python(MutationOperator::Bod, "x = a.price $0* rate$0 + 1\n"), @r"x = a.price  + 1");
}

#[test]
fn cod_in_python() {
    let code =
        "x = not a\nif not (a or b): pass\nif a not in b: pass\nassert not(a)\ny = a is not b\n";
    insta::assert_snapshot!(python(MutationOperator::Cod, code), @r"
x = a
if (a or b): pass
if a in b: pass
assert (a)
");
}

#[test]
fn cod_in_typescript() {
    let code = "x = !a;\nif (!(a || b)) f();\ny = !!a;\n!function () { f(); }();\nz = -a;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Cod, code), @r"
x = a;
if ((a || b)) f();
y = !a;
(function () { f(); }());
");
}

#[test]
fn coi_in_python() {
    let code = "if a: pass\nelif (b or\n      c): pass\nwhile a and b: pass\nx = a if b == 1 else c\ny = [a for a in b if a]\nif a in b: pass\nif not a: pass\nif a in b in c: pass\nif x := f(): pass\nwhile True: pass\nif (a is b): pass\n";
    insta::assert_snapshot!(python(MutationOperator::Coi, code), @r"
if not (a): pass
elif not (b or
while not (a and b): pass
x = a if not (b == 1) else c
y = [a for a in b if not (a)]
if a not in b: pass
if not (a in b in c): pass
if a not in b in c: pass
if a in b not in c: pass
if not (x := f()): pass
");
}

#[test]
fn coi_in_typescript() {
    let code = "if (a) f(); else if (b || c) g();\nwhile (a) f();\ndo { f(); } while (a);\nfor (let i = 0; i < 2; i++) f();\nfor (;;) { f(); }\nx = a ? b : c;\nif ('k' in o && a) f();\nif (!a) f();\nfor (const k in o) f();\nif (a === b) f();\nwhile (true) f();\n";
    insta::assert_snapshot!(typescript(MutationOperator::Coi, code), @r"
if (!(a)) f(); else if (b || c) g();
if (a) f(); else if (!(b || c)) g();
while (!(a)) f();
do { f(); } while (!(a));
for (let i = 0; !(i < 2); i++) f();
x = !(a) ? b : c;
if (!('k' in o && a)) f();
if (!('k' in o) && a) f();
");
}

#[test]
fn crp_in_python() {
    let code = "\"\"\"Documentation.\"\"\"\nx = 1 + 2.5\ny = 'a' if True else False\nz = rb'a' + b''\nw = f\"{a['k']}:{b:>3}\"\nv = ('a'\n     f'b')\nu = \"\"\"mutant\"\"\"\ndef f(a: 'A' = 0x1f) -> Literal['b']:\n    '''Documentation.'''\n    return 2j\n";
    insta::assert_snapshot!(python(MutationOperator::Crp, code), @r#"
x = 2 + 2.5
x = 1 + 3.5
y = '' if True else False
y = 'mutant' if True else False
y = 'a' if False else False
y = 'a' if True else True
z = rb'' + b''
z = rb'mutant' + b''
z = rb'a' + b'mutant'
w = f""
w = f"mutant"
w = f"{a['']}:{b:>3}"
w = f"{a['mutant']}:{b:>3}"
v = ('')
v = ('mutant')
u = """"""
u = """another"""
def f(a: 'A' = 0x20) -> Literal['b']:
"#);
}

#[test]
fn crp_in_typescript() {
    let code = "'use strict';\nimport a from 'a';\nexport { b } from 'b';\nconst c = await import('c');\nconst x: 1 | 'k' = 1;\nconst y = 'a' as 'a';\nconst z = `a${1n}` + '';\nconst w = { 'k': true, 2: false, [3]: 'v' };\nenum E { A = 1, 'B' = 2 }\ntype T = 'x' | 5;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Crp, code), @r"
const x: 1 | 'k' = 2;
const y = '' as 'a';
const y = 'mutant' as 'a';
const z = `` + '';
const z = `mutant` + '';
const z = `a${2n}` + '';
const z = `a${1n}` + 'mutant';
const w = { 'k': false, 2: false, [3]: 'v' };
const w = { 'k': true, 2: true, [3]: 'v' };
const w = { 'k': true, 2: false, [4]: 'v' };
const w = { 'k': true, 2: false, [3]: '' };
const w = { 'k': true, 2: false, [3]: 'mutant' };
enum E { A = 2, 'B' = 2 }
enum E { A = 1, 'B' = 3 }
");
}

#[test]
fn ddl_in_python() {
    let code = "class A:\n    @property\n    # why\n    @cached(1)\n    def f(self):\n        return 1\n@dataclass\nclass B: pass\n";
    insta::assert_snapshot!(described(MutationOperator::Ddl, "python", code), @r#"
line 2: DDL: delete "@property # why @cached(1)"
line 7: DDL: delete "@dataclass"
"#);
}

#[test]
fn ddl_in_typescript() {
    let code = "@a @b()\nexport class A {\n  @input() x = 1;\n  @once\n  f(@inject() y: number) { return y; }\n}\n@c class B {}\n";
    insta::assert_snapshot!(described(MutationOperator::Ddl, "typescript", code), @r#"
line 1: DDL: delete "@a @b()"
line 3: DDL: delete "@input()"
line 4: DDL: delete "@once"
line 7: DDL: delete "@c"
"#);
}

#[test]
fn ehd_in_python() {
    let code = "try:\n    f()\nexcept A:\n    g()\n    h()  # why\nexcept (B, C) as e: pass\nexcept D:\n    raise E\nfinally:\n    i()\n";
    insta::assert_snapshot!(python(MutationOperator::Ehd, code), @r"
raise  # why
except (B, C) as e: raise
");
}

#[test]
fn ehd_in_typescript() {
    let code = "try { f(); } catch (e) {\n  g();\n  h();\n}\ntry { f(); } catch { g(); }\ntry { f(); } catch ({ message }) { g(); }\ntry { f(); } catch (e) {}\ntry { f(); } catch (e) { throw e; }\n";
    insta::assert_snapshot!(typescript(MutationOperator::Ehd, code), @r"
throw e;
try { f(); } catch (caught) { throw caught; }
try { f(); } catch (caught) { throw caught; }
try { f(); } catch (e) { throw e; }
");
}

#[test]
fn ide_in_typescript() {
    let code = "i++;\n--i;\nfor (let i = 0; i < 2; i++) f(i);\n";
    insta::assert_snapshot!(typescript(MutationOperator::Ide, code), @r"
i--;
++i;
for (let i = 0; i < 2; i--) f(i);
");
    assert_eq!(python(MutationOperator::Ide, "x = - -i\ny = + +i\n"), "");
}

#[test]
fn lcr_in_python() {
    let code = "x = a and b and c\ny = a or b and c\nz = not a and b\nw = a > 1 and f(b) or c\n";
    insta::assert_snapshot!(python(MutationOperator::Lcr, code), @r"
x = (a or b) and c
x = a and b or c
y = a and (b and c)
y = a or (b or c)
z = not a or b
w = (a > 1 and f(b)) and c
w = (a > 1 or f(b)) or c
");
}

#[test]
fn lcr_in_typescript() {
    let code = "x = a && b && c;\ny = a || b && c;\nz = a ?? b ?? c;\nw = a ?? (b && c);\nv = (a || b) ?? c;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Lcr, code), @r"
x = (a || b) && c;
x = a && b || c;
y = a && (b && c);
y = a || (b || c);
z = (a && b) ?? c;
z = (a ?? b) && c;
z = (a ?? b) || c;
z = (a || b) ?? c;
w = a && (b && c);
w = a || (b && c);
w = a ?? (b || c);
v = (a && b) ?? c;
v = (a || b) && c;
v = (a || b) || c;
");
}

#[test]
fn lor_in_python() {
    let code = "x = a & b | c ^ d\ny = a << b >> c\nz = a & b == c\n";
    insta::assert_snapshot!(python(MutationOperator::Lor, code), @r"
x = (a & b) & (c ^ d)
x = (a | b) | c ^ d
x = a & b | c & d
y = a >> b >> c
y = a << b << c
z = a | b == c
");
}

#[test]
fn lor_in_typescript() {
    let code = "x = a & b | c ^ d;\ny = a << b >> c >>> d;\nlet w: A & B | C;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Lor, code), @r"
x = (a & b) & (c ^ d);
x = (a | b) | c ^ d;
x = a & b | c & d;
y = a >> b >> c >>> d;
y = a << b << c >>> d;
y = a << b >> c << d;
");
}

#[test]
fn lsr_in_python() {
    let code = "a &= b\na |= b\na ^= b\na <<= b\na >>= b\na += b\n";
    insta::assert_snapshot!(python(MutationOperator::Lsr, code), @r"
a |= b
a &= b
a &= b
a >>= b
a <<= b
");
}

#[test]
fn lsr_in_typescript() {
    let code =
        "a &= b;\na |= b;\na ^= b;\na <<= b;\na >>= b;\na >>>= b;\na &&= b;\na ||= b;\na ??= b;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Lsr, code), @r"
a |= b;
a &= b;
a &= b;
a >>= b;
a <<= b;
a <<= b;
a ||= b;
a &&= b;
a &&= b;
a ||= b;
");
}

#[test]
fn oil_in_python() {
    let code = "for x in y:\n    f(x)\n    if z:\n        g()  # why\nwhile a: f(); g();\nfor x in y:\n    f()\n    return\nelse:\n    h()\n";
    insta::assert_snapshot!(described(MutationOperator::Oil, "python", code), @r#"
line 4: OIL: insert "break"
line 5: OIL: insert "; break"
"#);
}

#[test]
fn oil_in_typescript() {
    let code = "for (const x of y) {\n  f(x);\n  g(x) // why\n}\nwhile (a) f()\ndo { f(); } while (a);\nfor (;;);\nfor (const x in y) {}\nwhile (a) { f(); break; }\nfor (;;) x = {}\n";
    insta::assert_snapshot!(described(MutationOperator::Oil, "typescript", code), @r#"
line 3: OIL: insert "break;"
line 5: OIL: "f()" → "{ f() break; }"
line 6: OIL: insert "break;"
line 7: OIL: ";" → "{ break; }"
line 8: OIL: "{}" → "{ break; }"
line 10: OIL: "x = {}" → "{ x = {} break; }"
"#);
}

#[test]
fn oil_needs_the_whole_body() {
    let code = "while a:\n    f()\n    $0g()$0\n";
    assert_eq!(python(MutationOperator::Oil, code), "");
    let code = "while a:\n    $0f()\n    g()$0\n";
    assert_eq!(python(MutationOperator::Oil, code), "break\n");
}

#[test]
fn ror_in_python() {
    let code = "x = a < b\ny = a >= b > c\nz = a == b != c\nw = a is b is not c\nv = a in b\n";
    insta::assert_snapshot!(python(MutationOperator::Ror, code), @r"
x = a <= b
x = a > b
y = a <= b > c
y = a > b > c
y = a >= b < c
y = a >= b >= c
z = a != b != c
z = a == b == c
w = a is not b is not c
w = a is b is c
");
}

#[test]
fn ror_in_typescript() {
    let code =
        "x = a < b;\ny = a >= b;\nz = a == b;\nw = a !== b;\nv = f<T>(a);\nu = a instanceof b;\n";
    insta::assert_snapshot!(typescript(MutationOperator::Ror, code), @r"
x = a <= b;
x = a > b;
y = a <= b;
y = a > b;
z = a != b;
w = a === b;
");
}

#[test]
fn sdl_in_python() {
    let code = "import a\nx: int\ny: int = 1\ndef f(a):\n    \"\"\"Documentation.\"\"\"\n    if a: return 1; g()\n    else:\n        pass\n    raise E  # why\nclass B:\n    z = 1\n";
    insta::assert_snapshot!(described(MutationOperator::Sdl, "python", code), @r#"
line 3: SDL: "y: int = 1" → "pass"
line 6: SDL: "if a: return 1; g() else: pass" → "pass"
line 6: SDL: "return 1" → "pass"
line 6: SDL: "g()" → "pass"
line 9: SDL: "raise E" → "pass"
line 11: SDL: "z = 1" → "pass"
"#);
}

#[test]
fn sdl_in_typescript() {
    let code = "'use strict';\nimport a from 'a';\nexport const x = 1;\nlet y = 1\ninterface I { z: number }\nfunction f(a) {\n  if (a) return 1; else g();\n  for (let i = 0; ; ) h();\n  switch (a) {\n    case 1: break;\n  }\n}\n";
    insta::assert_snapshot!(described(MutationOperator::Sdl, "typescript", code), @r#"
line 4: SDL: "let y = 1" → ";"
line 7: SDL: "if (a) return 1; else g();" → ";"
line 7: SDL: "return 1;" → ";"
line 7: SDL: "g();" → ";"
line 8: SDL: "for (let i = 0; ; ) h();" → ";"
line 8: SDL: "h();" → ";"
line 9: SDL: "switch (a) { case 1: break; }" → ";"
line 10: SDL: "break;" → ";"
"#);
}

#[test]
fn markup_is_code_too() {
    let code = "const A = () => a && <B c=\"d\" e={1 + f}>text</B>;\n";
    let all: String = MutationOperator::VARIANTS
        .iter()
        .copied()
        .map(|operator| made(operator, "typescriptreact", code))
        .collect();
    insta::assert_snapshot!(all, @r#"
const A = () => a && <B c="d" e={1 - f}>text</B>;
const A = () => <B c="d" e={1 + f}>text</B>;
const A = () => a;
const A = () => a && <B c="d" e={f}>text</B>;
const A = () => a && <B c="d" e={1}>text</B>;
const A = () => a && <B c="" e={1 + f}>text</B>;
const A = () => a && <B c="mutant" e={1 + f}>text</B>;
const A = () => a && <B c="d" e={2 + f}>text</B>;
const A = () => a || <B c="d" e={1 + f}>text</B>;
;
"#);
}

// The next number is as true as this one, and `void` gives `undefined` for any.
#[test]
fn numbers_without_an_effect_are_unchanged() {
    let code = "while (1) { f(void 0, 2); }\nif (0) { g(); }\n";
    insta::assert_snapshot!(made(MutationOperator::Crp, "typescript", code), @r#"
while (1) { f(void 0, 3); }
if (1) { g(); }
"#);
}

// Without a semicolon before it, `(c)` would be called by the line above.
#[test]
fn a_mutant_never_joins_the_statement_before() {
    let operator = MutationOperator::Cod;
    for before in ["a = b", "a = function () { return 1 }", "a = b // why"] {
        assert_eq!(
            made(operator, "javascript", &format!("{before}\n!(c) && d()\n")),
            ""
        );
    }
    for before in ["if (a) { b() }", "a = b; // why", "// why"] {
        let code = format!("{before}\n!(c) && d()\n");
        assert_eq!(made(operator, "javascript", &code), "(c) && d()\n");
    }
    let increments = made(
        MutationOperator::Ide,
        "javascript",
        "a = b\n++n\nif (c) ++n\n",
    );
    assert_eq!(increments, "--n\nif (c) --n\n");
    assert_eq!(
        made(operator, "javascript", "a = b;\n!(c) && d()\n"),
        "(c) && d()\n"
    );
}

#[test]
fn directives_are_unchanged() {
    let code = "#if DEBUG && TRACE\nclass A { int b = 1; }\n#endif\n#pragma warning disable 168\n";
    let all: String = MutationOperator::VARIANTS
        .iter()
        .copied()
        .map(|operator| made(operator, "csharp", code))
        .collect();
    assert_eq!(all, "class A { int b = 2; }\n");
}

#[test]
fn mutants_are_described_and_shown() {
    let contents = "def f(a):\n    b = a + 1\n    return b\n";
    let mutants = find_mutants(language("python"), contents, 14..23);
    let described: Vec<String> = mutants
        .iter()
        .map(|mutant| mutant.describe(contents))
        .collect();
    insta::assert_snapshot!(described.join("\n"), @r#"
line 2: SDL: "b = a + 1" → "pass"
line 2: BOD: delete "a +"
line 2: BOD: delete "+ 1"
line 2: AOR: "+" → "-"
line 2: CRP: "1" → "2"
"#);
    insta::assert_snapshot!(mutants[0].edit.diff(contents), @r"
@@ -1,3 +1,3 @@
 def f(a):
-    b = a + 1
+    pass
     return b
");
    insta::assert_snapshot!(
        serde_json::to_string(&mutants[0]).expect("a mutant is JSON"),
        @r#"{"operator":"SDL","range":{"start":14,"end":23},"replacement":"pass"}"#
    );
}

#[test]
fn the_first_operator_wins_where_two_give_one_text() {
    let contents = "while a:\n    continue\n";
    let of_the_keyword: Vec<MutationOperator> = find_mutants(language("python"), contents, 13..21)
        .iter()
        .map(|mutant| mutant.operator)
        .collect();
    assert_eq!(
        of_the_keyword,
        [MutationOperator::Bcr, MutationOperator::Sdl]
    );
    let both = find_mutants(language("typescript"), "if (!(k in o)) f();", 4..13);
    let texts: HashSet<String> = both
        .iter()
        .map(|mutant| mutant.edit.apply("if (!(k in o)) f();"))
        .collect();
    assert_eq!(texts.len(), both.len());
}

#[test]
fn a_faulty_file_has_no_mutants() {
    let contents = "def f(:\n    return 1 + 2\n";
    assert_eq!(
        find_mutants(language("python"), contents, 0..contents.len()),
        []
    );
    assert_eq!(raising_mutant(language("python"), contents, 12..13), None);
}

#[test]
fn operators_go_by_their_names() {
    for operator in MutationOperator::VARIANTS {
        let json = serde_json::to_string(operator).expect("a name is JSON");
        assert_eq!(json, format!("\"{operator}\""));
    }
    assert!(MutationOperator::VARIANTS.is_sorted_by_key(|operator| operator.name()));
}

#[test]
fn mutants_that_compile_alike_are_left_out() {
    let contents = "x = 1 + 2\n";
    let all = find_mutants(language("python"), contents, 0..contents.len());
    let compiled: Vec<Option<usize>> = (0..all.len())
        .map(|index| (index > 0).then_some(index / 2))
        .collect();
    let kept = deduplicate(all.clone(), 1, compiled);
    // The first does not compile; the second is alone; the third and the fourth are the original.
    let expected: Vec<&Mutant> = all
        .iter()
        .enumerate()
        .filter(|(index, _)| *index == 1 || *index >= 4 && index % 2 == 0)
        .map(|(_, mutant)| mutant)
        .collect();
    assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_canary_stands_before_the_statement() {
    let raising = |id: &str, code: &str| {
        let (contents, range) = fixture(code);
        let edit = raising_mutant(language(id), &contents, range).expect("there is a statement");
        edit.diff(&contents)
    };
    insta::assert_snapshot!(raising("python", "def f(a):\n    b = a $0+ 1$0\n    return b\n"), @r#"
@@ -1,3 +1,4 @@
 def f(a):
+    raise RuntimeError("this place was reached")
     b = a + 1
     return b
"#);
    insta::assert_snapshot!(raising("python", "if a: f($0b$0)\n"), @r#"
@@ -1 +1 @@
-if a: f(b)
+if a: raise RuntimeError("this place was reached"); f(b)
"#);
    insta::assert_snapshot!(raising("typescript", "class A {\n  f() {\n    $0return 1;$0\n  }\n}\n"), @r#"
@@ -1,5 +1,6 @@
 class A {
   f() {
+    throw new Error("this place was reached");
     return 1;
   }
 }
"#);
    insta::assert_snapshot!(raising("typescript", "class A {\n  $0f() { return 1; }$0\n}\n"), @r#"
@@ -1,3 +1,4 @@
+throw new Error("this place was reached");
 class A {
   f() { return 1; }
 }
"#);
    // Blanks and comments that the range begins with are passed over.
    insta::assert_snapshot!(raising("python", "def f(a):\n$0    # why\n\n    # how\n    return a\n$0"), @r#"
@@ -2,4 +2,5 @@
     # why
 
     # how
+    raise RuntimeError("this place was reached")
     return a
"#);
    // Before the lone body of an `if`, it would take its place.
    insta::assert_snapshot!(raising("typescript", "if (a)\n  $0return b;$0\nreturn c;\n"), @r#"
@@ -1,3 +1,3 @@
 if (a)
-  return b;
+  { throw new Error("this place was reached"); return b; }
 return c;
"#);
    insta::assert_snapshot!(raising("java", "class A { int f(int a) { if (a > 0) return $01$0; return 2; } }\n"), @r#"
@@ -1 +1 @@
-class A { int f(int a) { if (a > 0) return 1; return 2; } }
+class A { int f(int a) { if (a > 0) { if (true) throw new IllegalStateException("this place was reached"); return 1; } return 2; } }
"#);
    // In the arm of a `switch` that gives a value, no block can be.
    insta::assert_snapshot!(raising("java", "class A {\n  int f(int a) {\n    return switch (a) {\n      case 1 -> $0g(a);$0\n      default -> 2;\n    };\n  }\n}\n"), @r#"
@@ -1,5 +1,6 @@
 class A {
   int f(int a) {
+    if (true) throw new IllegalStateException("this place was reached");
     return switch (a) {
       case 1 -> g(a);
       default -> 2;
"#);
    // A function of one line is not called because it is defined.
    insta::assert_snapshot!(raising("typescript", "export function f() { $0return 7;$0 }\n"), @r#"
@@ -1 +1 @@
-export function f() { return 7; }
+export function f() { throw new Error("this place was reached"); return 7; }
"#);
    // A decorator and what it decorates are not torn apart.
    insta::assert_snapshot!(raising("python", "@a\n$0def f(): pass$0\n"), @r#"
@@ -1,2 +1,3 @@
+raise RuntimeError("this place was reached")
 @a
 def f(): pass
"#);
}

/// A syntax tree without its parentheses and comments: what the code means, but for names.
fn shape(node: Node<'_>, contents: &str) -> String {
    if node.kind() == "parenthesized_expression" {
        return node
            .named_child(0)
            .map_or(String::new(), |inner| shape(inner, contents));
    }
    if node.child_count() == 0 {
        return contents[node.byte_range()].to_owned();
    }
    let mut cursor = node.walk();
    let children: Vec<String> = node
        .children(&mut cursor)
        .map(|child| shape(child, contents))
        .collect();
    format!("({})", children.join(" "))
}

/// Expressions of each language's operators, with parentheses now and then.
fn expression(
    operators: &'static [&'static str],
    prefix: &'static str,
) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("a"), Just("b.c"), Just("f(d)"), Just("(e)"), Just("1")]
        .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 2, move |inner| {
        prop_oneof![
            4 => (inner.clone(), proptest::sample::select(operators), inner.clone())
                .prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
            1 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.clone().prop_map(move |inner| format!("{prefix}{inner}")),
            1 => inner.prop_map(|inner| format!("-{inner}")),
        ]
    })
}

/// Only the operator changes: the mutant's tree is the original's with one other token.
fn check_shapes(id: &str, contents: &str) -> Result<(), TestCaseError> {
    let language = language(id);
    let original = language.parse(contents);
    prop_assume!(!original.root_node().has_error());
    let before = shape(original.root_node(), contents);
    for mutant in find_mutants(language, contents, 0..contents.len()) {
        if !matches!(
            mutant.operator,
            MutationOperator::Aor
                | MutationOperator::Lcr
                | MutationOperator::Lor
                | MutationOperator::Ror
        ) {
            continue;
        }
        let text = mutant.edit.apply(contents);
        let after = shape(language.parse(&text).root_node(), &text);
        let (before, after): (Vec<&str>, Vec<&str>) =
            (before.split(' ').collect(), after.split(' ').collect());
        prop_assert_eq!(before.len(), after.len(), "{}", &text);
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        prop_assert_eq!(changed, 1, "{} became {}", contents, text);
    }
    Ok(())
}

/// The mutants of a range of a file, with what must hold of them checked.
fn checked(language: &'static Language, contents: &str, range: Range<usize>) -> Vec<Mutant> {
    let tree = language.parse(contents);
    let original: Vec<&str> = tokens(language, &tree, contents).collect();
    let found = find_mutants(language, contents, range.clone());
    assert!(found.is_sorted_by(|a, b| a.order() <= b.order()));
    let mut texts = HashSet::new();
    for mutant in &found {
        let place = &mutant.edit.range;
        assert!(range.start <= place.start && place.end <= range.end);
        let text = mutant.edit.apply(contents);
        let tree = language.parse(&text);
        assert!(!tree.root_node().has_error(), "{text}");
        assert!(tokens(language, &tree, &text).ne(original.iter().copied()));
        assert!(texts.insert(text), "a mutant came twice");
    }
    found
}

proptest! {
    #[test]
    fn python_operators_change_alone(
        code in expression(
            &["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "and", "or", "<", "=="],
            "not ",
        ),
    ) {
        check_shapes("python", &format!("x = {code}\n"))?;
    }

    // Without `<`, which next to a shift may parse as the start of type arguments.
    #[test]
    fn typescript_operators_change_alone(
        code in expression(
            &["+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>>", "&&", "||", "==="],
            "!",
        ),
    ) {
        check_shapes("typescript", &format!("x = {code};\n"))?;
    }

    #[test]
    fn mutants_of_any_range_keep_the_rules(start in 0..PYTHON.len(), length in 0..200usize) {
        let end = (start + length).min(PYTHON.len());
        checked(language("python"), PYTHON, start..end);
    }
}

const PYTHON: &str = include_str!("../../../../corpora/demo-python/src/ledgerline/parser.py");

#[test]
fn mutants_of_the_demos_keep_the_rules() {
    let corpora = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora");
    for (demo, absent) in [
        // What the demos have no occasion for.
        ("demo-python/src", ["IDE", "LOR", "LSR"].as_slice()),
        ("demo-typescript/src", &["DDL", "IDE", "LOR", "LSR"]),
        // Go has neither decorators nor exceptions.
        ("demo-go", &["DDL", "EHD", "LOR", "LSR"]),
        ("demo-java/src/main", &["DDL", "EHD", "LOR"]),
    ] {
        let mut seen = HashSet::new();
        for entry in ignore::Walk::new(corpora.join(demo)) {
            let path = entry.expect("the demo is readable").into_path();
            if let Some(language) = Language::for_path(&path) {
                let contents = std::fs::read_to_string(&path).expect("the demo is readable");
                let found = checked(language, &contents, 0..contents.len());
                seen.extend(found.iter().map(|mutant| mutant.operator));
            }
        }
        for operator in MutationOperator::VARIANTS.iter().copied() {
            let expected = !absent.contains(&operator.name());
            assert_eq!(seen.contains(&operator), expected, "{operator} in {demo}");
        }
    }
}

#[test]
fn a_statement_without_effect_stands_where_the_canary_does() {
    let inserted = |id: &str, code: &str| {
        let (contents, range) = fixture(code);
        let edit =
            neutral_mutant(language(id), &contents, range.clone()).expect("there is a statement");
        let raising = raising_mutant(language(id), &contents, range).expect("there is a statement");
        assert_eq!(edit.range, raising.range);
        edit.diff(&contents)
    };
    insta::assert_snapshot!(inserted("python", "def f(a):\n    b = a $0+ 1$0\n    return b\n"), @r#"
@@ -1,3 +1,4 @@
 def f(a):
+    []
     b = a + 1
     return b
"#);
    insta::assert_snapshot!(inserted("typescript", "if (a) {\n  f($0b$0)\n}\n"), @r#"
@@ -1,3 +1,4 @@
 if (a) {
+  void 0;
   f(b)
 }
"#);
}

#[test]
fn every_operator_that_go_has_an_occasion_for() {
    let code = "package p\n\nimport \"fmt\"\n\nfunc f(a, b int, s []int) (int, error) {\n\tx := a + b*-a\n\tx += 1\n\tx &^= 2\n\tx++\n\tif !ok(a&b) && a < 3 || s == nil {\n\t\treturn 0, fmt.Errorf(\"no %d\", x)\n\t}\n\tfor i := 0; i < a; i++ {\n\t\tif s[i] == b {\n\t\t\tcontinue\n\t\t}\n\t\tuse(true, `raw`)\n\t}\n\treturn x << 1, nil\n}\n";
    let mut all = String::new();
    for operator in MutationOperator::VARIANTS {
        all.push_str(&format!("{operator}\n"));
        all.push_str(&made(*operator, "go", code));
    }
    insta::assert_snapshot!(all, @r#"
AOR
x := a - b*-a
x := a + b/ -a
x := a + b* +a
ASR
x -= 1
BCR
break
BOD
x := b*-a
x := a
x := a + -a
x := a + b
if a < 3 || s == nil {
if s == nil {
if !ok(b) && a < 3 || s == nil {
if !ok(a) && a < 3 || s == nil {
if !ok(a&b) || s == nil {
if !ok(a&b) && a < 3 {
return 1, nil
return x, nil
COD
if ok(a&b) && a < 3 || s == nil {
COI
if !(!ok(a&b) && a < 3 || s == nil) {
for i := 0; !(i < a); i++ {
CRP
x += 2
x &^= 3
if !ok(a&b) && a < 4 || s == nil {
return 1, fmt.Errorf("no %d", x)
return 0, fmt.Errorf("", x)
return 0, fmt.Errorf("mutant", x)
for i := 1; i < a; i++ {
use(false, `raw`)
use(true, ``)
use(true, `mutant`)
return x << 2, nil
DDL
EHD
IDE
x--
for i := 0; i < a; i-- {
LCR
if (!ok(a&b) && a < 3) && s == nil {
if (!ok(a&b) || a < 3) || s == nil {
LOR
if !ok(a|b) && a < 3 || s == nil {
return x >> 1, nil
LSR
x &= 2
OIL
break
ROR
if !ok(a&b) && a <= 3 || s == nil {
if !ok(a&b) && a > 3 || s == nil {
if !ok(a&b) && a < 3 || s != nil {
for i := 0; i <= a; i++ {
for i := 0; i > a; i++ {
if s[i] != b {
SDL
{}
{}
{}
{}
{}
{}
{}
{}
{}
{}
"#);
}

#[test]
fn every_operator_that_java_has_an_occasion_for() {
    let code = "class A {\n  int f(int a, int b, int[] s) {\n    int x = a + b*-a;\n    x += 1;\n    x &= 2;\n    x++;\n    if (!ok(a&b) && a < 3 || s == null) {\n      throw new Error(\"no\" + x);\n    }\n    for (int i = 0; i < a; i++) {\n      if (s[i] == b) continue;\n      use(true, 1.5, 2L);\n    }\n    while (more()) go();\n    try { go(); } catch (Exception e) { log(e); }\n    return x << 1;\n  }\n}\n";
    let mut all = String::new();
    for operator in MutationOperator::VARIANTS {
        all.push_str(&format!("{operator}\n"));
        all.push_str(&made(*operator, "java", code));
    }
    insta::assert_snapshot!(all, @r#"
AOR
int x = a - b*-a;
int x = a + b/ -a;
int x = a + b* +a;
throw new Error("no" - x);
ASR
x -= 1;
BCR
if (s[i] == b) break;
BOD
int x = b*-a;
int x = a;
int x = a + -a;
int x = a + b;
if (a < 3 || s == null) {
if (s == null) {
if (!ok(b) && a < 3 || s == null) {
if (!ok(a) && a < 3 || s == null) {
if (!ok(a&b) || s == null) {
if (!ok(a&b) && a < 3) {
throw new Error(x);
throw new Error("no");
return 1;
return x;
COD
if (ok(a&b) && a < 3 || s == null) {
COI
if (!(!ok(a&b) && a < 3 || s == null)) {
for (int i = 0; !(i < a); i++) {
while (!(more())) go();
CRP
x += 2;
x &= 3;
if (!ok(a&b) && a < 4 || s == null) {
throw new Error("" + x);
throw new Error("mutant" + x);
for (int i = 1; i < a; i++) {
use(false, 1.5, 2L);
use(true, 2.5, 2L);
use(true, 1.5, 3L);
return x << 2;
DDL
EHD
try { go(); } catch (Exception e) { throw e; }
IDE
x--;
for (int i = 0; i < a; i--) {
LCR
if ((!ok(a&b) && a < 3) && s == null) {
if ((!ok(a&b) || a < 3) || s == null) {
LOR
if (!ok(a|b) && a < 3 || s == null) {
return x >> 1;
LSR
x |= 2;
OIL
break;
while (more()) { go(); ⏎ break; }
ROR
if (!ok(a&b) && a <= 3 || s == null) {
if (!ok(a&b) && a > 3 || s == null) {
if (!ok(a&b) && a < 3 || s != null) {
for (int i = 0; i <= a; i++) {
for (int i = 0; i > a; i++) {
if (s[i] != b) continue;
SDL
{}
{}
{}
{}
{}
{}
{}
if (s[i] == b) {}
{}
{}
while (more()) {}
{}
try { {} } catch (Exception e) { log(e); }
try { go(); } catch (Exception e) { {} }
{}
"#);
}

#[test]
fn every_operator_that_csharp_has_an_occasion_for() {
    let code = "class A {\n  int F(int a, int b, int[] s) {\n    int x = a + b*-a;\n    x += 1;\n    x &= 2;\n    x++;\n    if (!Ok(a&b) && a < 3 || s == null) {\n      throw new Exception(\"no\" + x);\n    }\n    for (int i = 0; i < a; i++) {\n      if (s[i] == b) continue;\n      Use(true, 1.5, 2L);\n    }\n    while (More()) Go();\n    try { Go(); } catch (Exception e) { Log(e); }\n    return x << 1;\n  }\n}\n";
    let mut all = String::new();
    for operator in MutationOperator::VARIANTS {
        all.push_str(&format!("{operator}\n"));
        all.push_str(&made(*operator, "csharp", code));
    }
    insta::assert_snapshot!(all, @r#"
AOR
int x = a - b*-a;
int x = a + b/ -a;
int x = a + b* +a;
throw new Exception("no" - x);
ASR
x -= 1;
BCR
if (s[i] == b) break;
BOD
int x = b*-a;
int x = a;
int x = a + -a;
int x = a + b;
if (a < 3 || s == null) {
if (s == null) {
if (!Ok(b) && a < 3 || s == null) {
if (!Ok(a) && a < 3 || s == null) {
if (!Ok(a&b) || s == null) {
if (!Ok(a&b) && a < 3) {
throw new Exception(x);
throw new Exception("no");
return 1;
return x;
COD
if (Ok(a&b) && a < 3 || s == null) {
COI
if (!(!Ok(a&b) && a < 3 || s == null)) {
for (int i = 0; !(i < a); i++) {
while (!(More())) Go();
CRP
x += 2;
x &= 3;
if (!Ok(a&b) && a < 4 || s == null) {
throw new Exception("" + x);
throw new Exception("mutant" + x);
for (int i = 1; i < a; i++) {
Use(false, 1.5, 2L);
Use(true, 2.5, 2L);
Use(true, 1.5, 3L);
return x << 2;
DDL
EHD
try { Go(); } catch (Exception e) { throw; }
IDE
x--;
for (int i = 0; i < a; i--) {
LCR
if ((!Ok(a&b) && a < 3) && s == null) {
if ((!Ok(a&b) || a < 3) || s == null) {
LOR
if (!Ok(a|b) && a < 3 || s == null) {
return x >> 1;
LSR
x |= 2;
OIL
break;
while (More()) { Go(); ⏎ break; }
ROR
if (!Ok(a&b) && a <= 3 || s == null) {
if (!Ok(a&b) && a > 3 || s == null) {
if (!Ok(a&b) && a < 3 || s != null) {
for (int i = 0; i <= a; i++) {
for (int i = 0; i > a; i++) {
if (s[i] != b) continue;
SDL
{}
{}
{}
{}
{}
{}
{}
if (s[i] == b) {}
{}
{}
while (More()) {}
{}
try { {} } catch (Exception e) { Log(e); }
try { Go(); } catch (Exception e) { {} }
{}
"#);
}
