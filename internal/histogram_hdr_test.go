package internal_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"mockserver/internal/histogram"
)

// hdrForms are histograms as hdrhistogram-go v1.4.0 writes those of New(1, 2h, 3): the bytes that it
// compresses.
var hdrForms = map[string]string{
	"none":             "1c84931300000001000000000000000300000000000000010000068c617140003ff000000000000000",
	"0 counts as 1":    "1c84931300000002000000000000000300000000000000010000068c617140003ff00000000000000002",
	"one empty bucket": "1c84931300000003000000000000000300000000000000010000068c617140003ff0000000000000000602",
	"empty buckets":    "1c84931300000005000000000000000300000000000000010000068c617140003ff0000000000000fd01020204",
}

// Each histogram has three of each of 0, 1, 999, 1000, 2047, 2048, 2049, 123456789 and a minute in
// nanoseconds. Its name is the lowest and the highest value and the digits that it was made with;
// the buckets are those that hdrhistogram-go v1.4.0 reads.
func TestReadHDR_WhatTheirLibraryWrites(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"1000, 1h, 1": {
			"HISTFAAAADN42pJpmSzMwMDAzQABjBCK+QUDA7ObwY4FDPYfICI8PAxsPOeZ2WYysQECAAD//6D/BuE=",
			"511:6 1023:6 2047:3 2559:6 125829119:3 60129542143:3",
		},
		"1, 1h, 2": {
			"HISTFAAAADd42pJpmSzMwMAgwAABTFCakYGB2c1gxwIG+w8QATa2t+xsbO1MbDyX5dmeCrIBAgAA//+yvQf1",
			"0:3 1:3 999:3 1003:3 2047:3 2063:6 123731967:3 60129542143:3",
		},
		"7, 2^40, 4": {
			"HISTFAAAADV42pJpmSzMwMAgyAABLFCanYGBEcyw/wAR4HnPzMbWzsLG8/WcOFvnC0E2QAAAAP//k0MHog==",
			"3:6 999:3 1003:3 2047:3 2051:6 123457535:3 60001615871:3",
		},
		"1024, 2^50, 5": {
			"HISTFAAAAC542pJpmSzMwMDAwwABrBCKBYxAwP4DhJZg47l/m49t55xeRjZAAAAA//9zyQZw",
			"1023:12 2047:3 3071:6 123457535:3 60000043007:3",
		},
	} {
		var got []string
		err := histogram.ReadHDR(c.text, func(value, count int64) { got = append(got, fmt.Sprintf("%d:%d", value, count)) })
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: got %v, %v; want %s", name, got, err, c.want)
		}
	}
}

// asHDR returns the text of a histogram, given what is compressed in hexadecimal.
func asHDR(t testing.TB, plain string) string {
	t.Helper()
	raw, err := hex.DecodeString(plain)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	b.WriteString("\x1c\x84\x93\x14\x00\x00\x00\x00")
	z := zlib.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestReadHDR_Refuses(t *testing.T) {
	const head = "1c849313" + "00000000" + "00000000" + "00000003" + "0000000000000001" + "0000000000000000" + "3ff0000000000000"
	whole := hdrForms["empty buckets"]
	sound := asHDR(t, whole)
	if err := histogram.ReadHDR(sound, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an empty text":        "",
		"not Base64":           "HIST!",
		"a cookie alone":       "HISTFA==",
		"another cookie":       "AAAA" + sound[4:],
		"not compressed":       "HISTFAAAAAAAAAAA",
		"cut off":              sound[:len(sound)-12],
		"half a head":          asHDR(t, head[:60]),
		"another version":      asHDR(t, strings.Replace(whole, "1c849313", "1c849301", 1)),
		"six digits":           asHDR(t, head[:24]+"00000006"+head[32:]),
		"-1 digits":            asHDR(t, head[:24]+"ffffffff"+head[32:]),
		"half a varint":        asHDR(t, head+"80"),
		"too many buckets":     asHDR(t, head+"ffff0b"+"02"), // -98304, but there are 54 * 1024
		"values of 64 bits":    asHDR(t, strings.Replace(head, "0000000000000001", "7fffffffffffffff", 1)+"fd0f"+"02"),
		"the smallest integer": asHDR(t, head+"ffffffffffffffffff01"),
	} {
		if err := histogram.ReadHDR(text, func(int64, int64) {}); err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

// What is read has values that rise, and counts above 0.
func FuzzReadHDR(f *testing.F) {
	for _, c := range hdrForms {
		raw, err := hex.DecodeString(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		last := int64(-1)
		text := asHDR(t, hex.EncodeToString(plain))
		_ = histogram.ReadHDR(text, func(value, count int64) {
			if value <= last || count <= 0 || last == math.MaxInt64 {
				t.Fatalf("%d times %d after %d", count, value, last)
			}
			last = value
		})
	})
}
