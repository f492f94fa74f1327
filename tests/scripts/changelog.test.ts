import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { cut, notes } from '../../scripts/changelog.ts';

const root = resolve(import.meta.dirname, '../..');
const former = '# Changelog\n\n## 0.1.0\n\n- First.\n- Second.\n';
const now = '# Changelog\n\n## 0.1.0\n\n- First.\n- Second.\n- Third.\n- Fourth.\n';

test('a cut moves what came since the last release to a section of its own, which stands first', () => {
  const text = cut(now, former, '0.2.0', '2026-12-01');
  expect(text).toBe('# Changelog\n\n## 0.2.0 (2026-12-01)\n\n- Third.\n- Fourth.\n\n## 0.1.0\n\n- First.\n- Second.\n');
  expect(notes(text, '0.2.0')).toBe('- Third.\n- Fourth.\n');
  const next = text.replace('- Fourth.\n', '- Fourth.\n- Fifth.\n');
  expect(notes(cut(next, text, '0.3.0', '2027-01-01'), '0.3.0')).toBe('- Fifth.\n');
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
