import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { cut, notes } from '../../scripts/changelog.ts';

const root = resolve(import.meta.dirname, '../..');
const former = '# Changelog\n\n## 0.1.0\n\n### Added\n\n- First.\n- Second.\n';
const now = `# Changelog

## Unreleased

### Fixed

- Third.

### Added

- Fourth.

## 0.1.0

### Added

- First.
- Second.
`;

test('a cut moves what came since the last release, by kind, to a section of its own, which stands first', () => {
  const text = cut(now, former, '0.2.0', '2026-12-01');
  const section = '### Added\n\n- Fourth.\n\n### Fixed\n\n- Third.\n';
  expect(text).toBe(
    `# Changelog\n\n## 0.2.0 (2026-12-01)\n\n${section}\n## 0.1.0\n\n### Added\n\n- First.\n- Second.\n`,
  );
  expect(notes(text, '0.2.0')).toBe(section);
  const next = text.replace('- Fourth.\n', '- Fourth.\n- Fifth.\n');
  expect(notes(cut(next, text, '0.3.0', '2027-01-01'), '0.3.0')).toBe('### Added\n\n- Fifth.\n');
});

test('a change below no kind, or below one that nobody knows, is refused', () => {
  expect(() => cut('# Changelog\n\n## 0.1.0\n\n- First.\n', former, '0.2.0', '')).toThrowError('- First.');
  expect(() => notes(now.replace('### Fixed', '### Mended'), '0.1.0')).toThrowError('- Third.');
});

test('the changelog tells each change once, below its kind', () => {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(notes(text, version)).toMatch(/^### Added\n/);
  const lines = text.split('\n').filter((line) => line.startsWith('- '));
  expect(lines.filter((line, at) => lines.indexOf(line) !== at)).toEqual([]);
  expect(lines.filter((line) => !/^- .+\.$/.test(line))).toEqual([]);
});

test('a version that is none, is there already, or has no change is not cut', () => {
  expect(() => cut(now, former, 'next', '')).toThrowError('0.2.0');
  expect(() => cut(now, former, '0.1.0', '')).toThrowError('already');
  expect(() => cut(former, former, '0.2.0', '')).toThrowError('nothing has changed');
  expect(() => notes(former, '9.9.9')).toThrowError('9.9.9');
});

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

test('workflows may write nothing unless a job says so, and the scripts that they run are there', () => {
  const folder = join(root, '.github/workflows');
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const verbs = readdirSync(join(root, 'scripts')).map((name) => name.replace(/\.ts$/, ''));
  const called: string[] = [];
  for (const name of readdirSync(folder)) {
    const { permissions, jobs } = parse(readFileSync(join(folder, name), 'utf8')) as Workflow;
    expect([name, permissions]).toEqual([name, { contents: 'read' }]);
    const text = Object.values(jobs)
      .flatMap(({ steps }) => steps.map(({ run = '' }) => run))
      .join('\n');
    for (const [, verb = ''] of text.matchAll(/launch\.mjs ([a-z-]+)/g)) expect(verbs).toContain(verb);
    for (const [, script = ''] of text.matchAll(/npm run ([a-z-]+)/g)) called.push(script);
  }
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(called));
  expect(called).toContain('release');
});
