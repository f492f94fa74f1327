/** Sentences of the documentation that a list has to keep: variables, exit codes, settings of a proxy. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { environment, exitCodes } from '../../cli/commands/help/topics.ts';
import { proxyLines } from '../../cli/parts/proxy-lines.ts';
import { errors } from '../../server/contract/errors.ts';

const root = resolve(import.meta.dirname, '../..');
const page = (name: string, language: 'en' | 'zh'): string =>
  readFileSync(join(root, 'web/docs', language, `${name}.md`), 'utf8');
const pages = (language: 'en' | 'zh'): string =>
  readdirSync(join(root, 'web/docs', language))
    .map((file) => readFileSync(join(root, 'web/docs', language, file), 'utf8'))
    .join('\n');

/** Of what is built, and of programs beside the gateway; the last is read by the runtime. */
const notOurs = new Set([
  ...['GATEWAY_COMMIT', 'GATEWAY_COMPILED', 'GATEWAY_RELEASE_KEY'],
  // In settings of agents: they read it.
  ...['GATEWAY_API_KEY', 'GATEWAY_TOKEN_OF_OPENCODE'],
]);
const names = /\b(?:GATEWAY|OTEL|DATABASE|REDIS)_[A-Z][A-Z0-9_]+\b/g;
const listed = new Set(environment.flatMap(({ name }) => [name, `${name}_FILE`]));

test('`gateway help environment` lists the variables that the program reads, and no other', () => {
  const files = ['cli', 'server', 'db'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && !/^bench\/|help\/topics\.ts$/.test(file))
      .map((file) => join(root, folder, file)),
  );
  const read = files.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(
      /(?:\benv(?:ironment)?\.|['\s])((?:GATEWAY|OTEL|DATABASE|REDIS)_[A-Z0-9_]+)\b/g,
    ),
  ]);
  const known = new Set(read.map(([, name = '']) => name).filter((name) => !notOurs.has(name)));
  expect(known.size).toBeGreaterThan(40);
  const otel = (name: string): boolean => listed.has(name.replace('OTLP_ENDPOINT', 'OTLP_TRACES_ENDPOINT'));
  expect([...known].filter((name) => !listed.has(name) && !otel(name))).toEqual([]);
  const ofOurs = environment.filter(({ name }) => name.match(names)?.[0] === name);
  expect(ofOurs.map(({ name }) => name).filter((name) => !known.has(name) && !known.has(`${name}_FILE`))).toEqual([]);
});

test.each(['en', 'zh'] as const)(
  '`gateway help environment` lists every variable that the pages in %s name',
  (language) => {
    const named = new Set(pages(language).match(names) ?? []);
    expect(named.size).toBeGreaterThan(25);
    expect([...named].filter((name) => !listed.has(name) && !notOurs.has(name))).toEqual([]);
  },
);

test.each(['en', 'zh'] as const)(
  'the table of exit codes in %s has every code that a command ends with',
  (language) => {
    const rows = [...page('api', language).matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(rows).toEqual(exitCodes.map(({ code }) => code));
    const used = new Set(Object.values(errors).map(({ exit }) => exit));
    expect([...used].filter((code) => !rows.includes(code))).toEqual([]);
    expect(rows).toEqual(expect.arrayContaining([11, 130, 143]));
  },
);

test.each(['en', 'zh'] as const)('the example for nginx in %s has what its defaults lack', (language) => {
  const [, example = ''] = /### nginx\n[\s\S]*?```nginx\n([\s\S]*?)```/.exec(page('service', language)) ?? [];
  const wanted = (['body', 'silence', 'underscores', 'address', 'scheme', 'sockets'] as const).flatMap((fault) =>
    proxyLines(fault, 'nginx', 'remove'),
  );
  expect(wanted.length).toBe(8);
  expect(wanted.filter((line) => !example.includes(line))).toEqual([]);
  const [row = ''] = /^\| nginx \|.*$/m.exec(page('service', language)) ?? [];
  for (const setting of ['client_max_body_size', 'proxy_read_timeout', 'underscores_in_headers'])
    expect(row).toContain(setting);
});
