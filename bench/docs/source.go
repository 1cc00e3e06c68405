package docs

// names are the identifiers of one source file. Each occurs many times.
type names struct {
	types, fields, functions, locals []string
}

// source appends a source file like that of a Go program: types, and functions with nested
// statements.
func (w *writer) source(bytes int) {
	end := len(w.buf) + bytes
	n := w.names()
	w.add("package ", w.word(), "\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\n\t\"example.com/",
		w.word(), "/", w.word(), "\"\n)\n")
	for len(w.buf) < end {
		if w.random.IntN(5) == 0 {
			w.typeDeclaration(n)
			continue
		}
		w.function(n, end)
	}
}

// names returns new identifiers.
func (w *writer) names() names {
	var n names
	for range 4 {
		n.types = append(n.types, w.word()+w.title())
	}
	for range 12 {
		n.fields = append(n.fields, w.word()+w.pick("", w.title()))
		n.functions = append(n.functions, w.word()+w.title())
		n.locals = append(n.locals, w.word())
	}
	n.locals = append(n.locals, "i", "n", "err", "key", "value")
	return n
}

func (w *writer) typeDeclaration(n names) {
	name := w.pick(n.types...)
	w.add("\n// ", name, " is ")
	w.prose(6 + w.random.IntN(12))
	w.add(".\ntype ", name, " struct {\n")
	for range 2 + w.random.IntN(6) {
		w.add("\t", w.pick(n.fields...), " ",
			w.pick("int", "string", "[]byte", "bool", "error", "*"+w.pick(n.types...)), "\n")
	}
	w.add("}\n")
}

// function appends a function that ends soon after the file should.
func (w *writer) function(n names, end int) {
	name := w.pick(n.functions...)
	w.add("\n// ", name, " ")
	w.prose(5 + w.random.IntN(14))
	w.add(".\nfunc (", "r *", w.pick(n.types...), ") ", name, "(", w.pick(n.locals...), " ",
		w.pick("int", "string", "[]byte"), ") error {\n")
	for range 2 + w.random.IntN(10) {
		if len(w.buf) < end {
			w.statement(n, 1)
		}
	}
	w.add("\treturn nil\n}\n")
}

// statement appends a statement at the given indentation depth.
func (w *writer) statement(n names, depth int) {
	const tabs = "\t\t\t\t"
	indent := tabs[:depth]
	local := w.pick(n.locals...)
	switch choice := w.random.IntN(8); {
	case choice == 0 && depth < len(tabs)-1:
		w.add(indent, "for i := range ", local, " {\n")
		w.statement(n, depth+1)
		w.statement(n, depth+1)
		w.add(indent, "}\n")
	case choice == 1 && depth < len(tabs)-1:
		w.add(indent, "if ", local, " ", w.pick("==", "<", ">", "!="), " ")
		w.number(0, 64)
		w.add(" {\n")
		w.statement(n, depth+1)
		w.add(indent, "}\n")
	case choice == 2:
		w.add(indent, "// ", w.title(), " ", w.word(), " ", w.word(), " ", w.word(), ".\n")
	case choice == 3:
		w.add(indent, "if err := r.", w.pick(n.functions...), "(", local, "); err != nil {\n", indent,
			"\treturn fmt.Errorf(\"", w.word(), " ", w.word(), ": %w\", err)\n", indent, "}\n")
	case choice == 4:
		w.add(indent, "r.", w.pick(n.fields...), " = append(r.", w.pick(n.fields...), ", ", local, ")\n")
	default:
		w.add(indent, local, " := r.", w.pick(n.functions...), "(r.", w.pick(n.fields...), ", ")
		w.number(0, 1_000)
		w.add(")\n")
	}
}
