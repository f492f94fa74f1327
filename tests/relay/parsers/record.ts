/**
 * Writes recorded.json again: how readers in other languages parse the bodies, and what their clients send.
 *
 *   bun tests/relay/parsers/record.ts FOLDER   writes FOLDER/bodies.json, or, with its answers there, recorded.json
 *   python record.py FOLDER/bodies.json FOLDER/python.json FOLDER-WITH-AXIOS
 *   go run record.go FOLDER/bodies.json FOLDER/go.json
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { forms } from './forms.ts';
import { jsonBodies } from './json-bodies.ts';
import { digest, type Recorded } from './recorded.ts';

const [folder = '.'] = process.argv.slice(2);
const base64 = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding).toString('base64');
const answers = ['python.json', 'go.json'].map((name) => join(folder, name));

if (answers.every((path) => existsSync(path))) {
  const [python, go] = answers.map((path) => JSON.parse(readFileSync(path, 'utf8')) as Partial<Recorded>);
  const merged = (kind: 'forms' | 'json') =>
    Object.fromEntries(
      Object.entries(python?.[kind] ?? {}).map(([name, recorded]) => [name, { ...recorded, ...go?.[kind]?.[name] }]),
    );
  const recorded: Recorded = {
    digest: digest(),
    forms: merged('forms'),
    json: merged('json'),
    clients: python?.clients ?? [],
  };
  writeFileSync(new URL('./recorded.json', import.meta.url), `${JSON.stringify(recorded, null, 1)}\n`);
} else {
  writeFileSync(
    join(folder, 'bodies.json'),
    JSON.stringify({
      forms: forms.map(({ name, type, body }) => ({
        name,
        type: base64(type, 'latin1'),
        body: base64(body, 'latin1'),
      })),
      json: jsonBodies.map(({ name, body }) => ({ name, body: base64(body, 'utf8') })),
    }),
  );
}
