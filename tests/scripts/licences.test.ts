import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Documents, documentsOf } from '../../scripts/licences/documents.ts';
import { packagesOf } from '../../scripts/licences/packages.ts';

const root = resolve(import.meta.dirname, '../..');
interface Component {
  readonly name: string;
  readonly group?: string;
  readonly version?: string;
  readonly licenses: readonly unknown[];
  readonly hashes?: readonly { readonly content: string }[];
  readonly components?: readonly Component[];
}

let documents: Documents;
let components: readonly Component[];
let project: string;
beforeAll(async () => {
  documents = await documentsOf(root);
  ({ components } = JSON.parse(documents.sbom) as { components: readonly Component[] });
  project = mkdtempSync(join(tmpdir(), 'gateway-licences-'));
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
};
const fullName = (one: Component): string => (one.group === undefined ? one.name : `${one.group}/${one.name}`);

test('the bill of materials is CycloneDX 1.6 by its own schema', async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  expect(await validator.validate(documents.sbom)).toBeNull();
  // The judge can say no.
  expect(await validator.validate(documents.sbom.replace('"library"', '"no such type"'))).not.toBeNull();
});

test('it lists what server, command line and console are made of, Bun with its parts, SQLite and foreign data', () => {
  const names = components.map(fullName);
  for (const name of ['express', 'kysely', 'ink', '@simplewebauthn/server', 'react-dom', 'uplot', '@headlessui/react'])
    expect(names).toContain(name);
  for (const name of [
    'tailwindcss',
    'better-sqlite3',
    'node-addon-api',
    'sqlite',
    'bun',
    'models.dev prices',
    'litellm facts',
    'genai-prices facts',
    '@openai/codex facts',
  ])
    expect(names).toContain(name);
  const inside = components.find((one) => one.name === 'bun')?.components?.map(fullName) ?? [];
  for (const name of ['JavaScriptCore', 'boringssl', 'tinycc', 'zstd']) expect(inside).toContain(name);
  // Tools of the build and of the tests stay out.
  for (const name of ['typescript', 'vitest', 'playwright-core', 'spdx-license-list'])
    expect(names).not.toContain(name);
});

test('versions and sums are those of the lock file', () => {
  const lock = readFileSync(join(root, 'bun.lock'), 'utf8');
  const packages = components.filter((one) => one.hashes !== undefined);
  expect(packages.length).toBeGreaterThan(100);
  for (const one of packages) {
    expect(lock).toContain(`"${fullName(one)}@${one.version}"`);
    expect(lock).toContain(Buffer.from(one.hashes?.[0]?.content ?? '', 'hex').toString('base64'));
  }
});

test('every package is followed by its licence, and those of the runtime are there in full', () => {
  for (const one of components.filter((other) => other.hashes !== undefined)) {
    expect(one.licenses).toHaveLength(1);
    expect(documents.licences).toContain(`\n${fullName(one)} ${one.version} (`);
  }
  expect(documents.licences).toContain('GNU LIBRARY GENERAL PUBLIC LICENSE');
  for (const notice of ['2025 models.dev', '2023 Berri AI'])
    expect(documents.licences).toContain(`Copyright (c) ${notice}`);
  expect(documents.licences).toContain('Copyright (c) Pydantic Services Inc.');
  expect(documents.licences).toContain('May you do good and not evil');
  expect(documents.licences).toContain('Mozilla Public License');
});

test('the same sources give the same bytes, without a trace of the machine or the time', async () => {
  expect(await documentsOf(root)).toEqual(documents);
  for (const text of [documents.sbom, documents.licences]) {
    expect(text).not.toContain(root);
    expect(text).not.toMatch(/registry\.|"timestamp"|"serialNumber"/);
  }
});

test('a package without a licence text is refused by its name', () => {
  const manifest = (name: string) => JSON.stringify({ name, version: '1.2.3', license: 'MIT' });
  write('node_modules/good/package.json', manifest('good'));
  write('node_modules/good/LICENCE.md', 'Do what you like.');
  write('node_modules/@some/bare/package.json', manifest('@some/bare'));
  // A folder that only says how its files are to be read is no package.
  write('node_modules/@some/bare/esm/package.json', '{"type":"module"}');
  write('node_modules/@some/bare/esm/index.js', '');
  const files = ['node_modules/good/index.js', 'node_modules/@some/bare/esm/index.js'];
  expect(() => packagesOf(project, files, join(project, 'texts'))).toThrow('no licence text: @some/bare@1.2.3');
  write('texts/@some__bare.txt', 'Do what you must.');
  expect(packagesOf(project, files, join(project, 'texts')).map((one) => one.text)).toEqual([
    'Do what you must.',
    'Do what you like.',
  ]);
});

test('new versions of packages ripen before they are installed', () => {
  const settings = Bun.TOML.parse(readFileSync(join(root, 'bunfig.toml'), 'utf8')) as {
    install: { minimumReleaseAge: number };
  };
  expect(settings.install.minimumReleaseAge).toBeGreaterThanOrEqual(3 * 24 * 3600);
  expect(existsSync(join(root, 'bun.lock'))).toBe(true);
});
