"""Writes what Python's readers make of the bodies, and what real clients send.

pip install starlette python-multipart werkzeug requests httpx aiohttp openai; then see record.ts.
Usage: record.py BODIES.json OUT.json [folder with node_modules/axios]
"""

import asyncio, base64, http.server, io, json, os, subprocess, sys, threading

import aiohttp, httpx, openai, requests
from starlette.requests import Request
from werkzeug.formparser import parse_form_data

names = ["model", "n"]


def seen(pairs):
    found = {name: [] for name in names}
    for name, value in pairs:
        if name in found:
            found[name].append(value if isinstance(value, str) else "(file)")
    return found


def by_werkzeug(kind, body):
    environ = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": kind.decode("latin1"), "CONTENT_LENGTH": str(len(body)),
               "wsgi.input": io.BytesIO(body)}
    _, form, files = parse_form_data(environ, silent=False)
    return seen(list(form.items(multi=True)) + list(files.items(multi=True)))


def by_starlette(kind, body):
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def run():
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind)]}
        form = await Request(scope, receive).form()
        return seen(form.multi_items())

    return asyncio.run(run())


def by_json(body):
    value = json.loads(body)
    found = {name: value[name] for name in fields if name in value}
    # Python reads and writes numbers that are no JSON.
    return json.loads(json.dumps(found), parse_constant=str)


fields = ["model", "n", "max_tokens", "size", "quality", "stream", "generationConfig"]


def attempt(read, *args):
    try:
        return read(*args)
    except Exception as error:  # Whatever a reader refuses, it refuses in a way of its own.
        return {"error": type(error).__name__}


class Capture(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["content-length"]))
        self.server.taken.append({"type": self.headers["content-type"], "body": base64.b64encode(body).decode()})
        answer = b'{"text":"x"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def clients(folder, go):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Capture)
    server.taken = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/v1/audio/transcriptions"
    sound = b"RIFF\x00\xff--sound\r\n"
    path = "/tmp/a.wav"
    with open(path, "wb") as out:
        out.write(sound)
    found = []

    def note(name, call):
        call()
        found.append({"name": name, **server.taken.pop()})

    def by_aiohttp():
        async def send():
            form = aiohttp.FormData()
            form.add_field("model", "cheap")
            form.add_field("n", "1")
            form.add_field("file", sound, filename="a.wav", content_type="audio/wav")
            async with aiohttp.ClientSession() as session:
                await (await session.post(url, data=form)).read()

        asyncio.run(send())

    def by_openai():
        client = openai.OpenAI(api_key="x", base_url=url.split("/audio")[0], max_retries=0)
        client.audio.transcriptions.create(model="cheap", file=("a.wav", sound), extra_body={"n": 1},
                                           timestamp_granularities=["word"])

    files = {"file": ("a.wav", sound, "audio/wav")}
    data = {"model": "cheap", "n": "1"}
    note("requests", lambda: requests.post(url, data=data, files=files))
    note("requests, other letters", lambda: requests.post(url, data=data, files={"file": ("声音.wav", sound)}))
    note("httpx", lambda: httpx.post(url, data=data, files=files))
    note("aiohttp", by_aiohttp)
    note("openai for Python", by_openai)
    curl = ["curl", "-s", url, "-F"]
    note("curl", lambda: subprocess.run([*curl, "model=cheap", "-F", "n=1", "-F", f"file=@{path}"], check=True))
    note("curl with a type", lambda: subprocess.run(
        [*curl, "model=cheap", "-F", "n=1", "-F", f"file=@{path};type=audio/wav;filename=b c.wav"], check=True))
    fetches = "const f=new FormData();f.set('model','cheap');f.set('n','1');f.set('file',new Blob(['RIFF']),'a.wav');"
    note("fetch of Node", lambda: subprocess.run(
        ["node", "-e", f"{fetches}fetch('{url}',{{method:'POST',body:f}}).then(r=>r.text())"], check=True))
    axios = ("const F=require('form-data');const f=new F();f.append('model','cheap');f.append('n','1');"
             "f.append('file',Buffer.from('RIFF'),{filename:'a.wav'});")
    note("axios with form-data", lambda: subprocess.run(
        ["node", "-e", f"{axios}require('axios').post('{url}',f)"], check=True, cwd=folder))
    note("axios with FormData", lambda: subprocess.run(
        ["node", "-e", f"{fetches}require('axios').post('{url}',f)"], check=True, cwd=folder))
    note("Go", lambda: subprocess.run(["go", "run", go, "client", url], check=True))
    return found


def main():
    source, out = sys.argv[1:3]
    with open(source) as file:
        bodies = json.load(file)
    recorded = {"forms": {}, "json": {}}
    for form in bodies["forms"]:
        kind, body = base64.b64decode(form["type"]), base64.b64decode(form["body"])
        recorded["forms"][form["name"]] = {"werkzeug": attempt(by_werkzeug, kind, body),
                                       "starlette": attempt(by_starlette, kind, body)}
    for item in bodies["json"]:
        recorded["json"][item["name"]] = {"python": attempt(by_json, base64.b64decode(item["body"]))}
    if len(sys.argv) > 3:
        recorded["clients"] = clients(sys.argv[3], os.path.join(os.path.dirname(os.path.abspath(__file__)), "record.go"))
    with open(out, "w") as file:
        json.dump(recorded, file)


main()
