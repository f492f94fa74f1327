// Writes what Go's readers make of the bodies (go run record.go BODIES.json OUT.json), and a form as Go writes it.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
)

type item struct{ Name, Type, Body string }

type request struct {
	Model            any `json:"model"`
	N                any `json:"n"`
	MaxTokens        any `json:"max_tokens"`
	Size             any `json:"size"`
	Quality          any `json:"quality"`
	Stream           any `json:"stream"`
	GenerationConfig *struct {
		MaxOutputTokens any `json:"maxOutputTokens"`
		CandidateCount  any `json:"candidateCount"`
	} `json:"generationConfig"`
}

func bytesOf(text string) []byte {
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return value
}

func failed(err error) map[string]any { return map[string]any{"error": err.Error()} }

func readForm(form item) map[string]any {
	_, parameters, err := mime.ParseMediaType(string(bytesOf(form.Type)))
	if err != nil {
		return failed(err)
	}
	read, err := multipart.NewReader(bytes.NewReader(bytesOf(form.Body)), parameters["boundary"]).ReadForm(1 << 26)
	if err != nil {
		return failed(err)
	}
	found := map[string]any{}
	for _, name := range []string{"model", "n"} {
		values := append([]string{}, read.Value[name]...)
		for range read.File[name] {
			values = append(values, "(file)")
		}
		found[name] = values
	}
	return found
}

func readJson(body item) map[string]any {
	var read request
	// A decoder, as most servers use it: what stands behind the value is not read.
	if err := json.NewDecoder(bytes.NewReader(bytesOf(body.Body))).Decode(&read); err != nil {
		return failed(err)
	}
	recorded, err := json.Marshal(read)
	if err != nil {
		return failed(err)
	}
	found := map[string]any{}
	if err := json.Unmarshal(recorded, &found); err != nil {
		return failed(err)
	}
	for name, value := range found {
		if value == nil {
			delete(found, name)
		}
	}
	return found
}

func send(url string) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	writer.WriteField("model", "cheap")
	writer.WriteField("n", "1")
	file, err := writer.CreateFormFile("file", "a.wav")
	if err != nil {
		panic(err)
	}
	file.Write([]byte("RIFF"))
	writer.Close()
	answer, err := http.Post(url, writer.FormDataContentType(), &body)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
}

func main() {
	if os.Args[1] == "client" {
		send(os.Args[2])
		return
	}
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var bodies struct{ Forms, Json []item }
	if err := json.Unmarshal(source, &bodies); err != nil {
		panic(err)
	}
	recorded := map[string]map[string]map[string]any{"forms": {}, "json": {}}
	for _, form := range bodies.Forms {
		recorded["forms"][form.Name] = map[string]any{"go": readForm(form)}
	}
	for _, body := range bodies.Json {
		recorded["json"][body.Name] = map[string]any{"go": readJson(body)}
	}
	out, err := json.Marshal(recorded)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[2], out, 0o600); err != nil {
		panic(err)
	}
}
