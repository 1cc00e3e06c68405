package layout

import "testing"

func BenchmarkAppend(b *testing.B) {
	l := mustOf[user](b).Numbered(1)
	u := someUser()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = Append(l, buf[:0], &u)
	}
	b.ReportMetric(float64(len(buf)), "bytes/record")
}

func BenchmarkDecode(b *testing.B) {
	l := mustOf[user](b).Numbered(1)
	u := someUser()
	record := mustAppend(b, l, &u)
	p := mustPlan(b, l, l)
	b.ReportAllocs()
	for b.Loop() {
		var v user
		if err := Decode(p, record, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkField(b *testing.B) {
	l := mustOf[user](b).Numbered(1)
	u := someUser()
	record := mustAppend(b, l, &u)
	p := mustPlan(b, l, l)
	fields := map[string]*Field{}
	for _, name := range []string{"UpdatedAt", "Score", "email"} {
		f, err := p.Field(name)
		if err != nil {
			b.Fatal(err)
		}
		fields[name] = f
	}
	b.Run("int", func(b *testing.B) {
		f := fields["UpdatedAt"]
		for b.Loop() {
			if v, err := f.Int(record); err != nil || v != u.UpdatedAt {
				b.Fatal(v, err)
			}
		}
	})
	b.Run("float", func(b *testing.B) {
		f := fields["Score"]
		for b.Loop() {
			if v, err := f.Float(record); err != nil || v != u.Score {
				b.Fatal(v, err)
			}
		}
	})
	b.Run("bytes", func(b *testing.B) {
		f := fields["email"]
		for b.Loop() {
			if v, err := f.Bytes(record); err != nil || len(v) != len(u.Email) {
				b.Fatal(v, err)
			}
		}
	})
	b.Run("replace", func(b *testing.B) {
		f := fields["UpdatedAt"]
		for b.Loop() {
			if _, err := replace(record[:0], record, f, u.UpdatedAt); err != nil {
				b.Fatal(err)
			}
		}
	})
}
