/** Lists on a terminal in Chinese: headings and states are words, and pipes read what they always did. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createOutput } from '../../cli/output.ts';
import { headingOf, stateIn } from '../../cli/parts/chinese-lists.ts';
import { withMarks } from '../../cli/parts/state-marks.ts';

/** Headings of all lists that the outlines draw on a terminal: bold, two cells apart. */
const outlines = resolve(import.meta.dirname, 'outlines');
const headings = new Set(
  readdirSync(outlines, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.txt'))
    .flatMap((file) => [...readFileSync(join(outlines, file), 'utf8').matchAll(/\^\[1m(.*?)\s*\^\[22m/g)])
    .flatMap(([, line = '']) => line.trim().split(/ {2,}/))
    .map((name) => name.toLowerCase())
    .filter((name) => !/\p{Script=Han}/u.test(name)),
);

test('every heading of a list has a word in Chinese, and stays as it is in English', () => {
  expect(headings.size).toBeGreaterThan(100);
  const same = [...headings].filter((name) => !/\p{Script=Han}/u.test(headingOf(name, 'zh')));
  // Written so in Chinese, too.
  expect(same.sort()).toEqual(['cpu', 'id']);
  expect([...headings].filter((name) => headingOf(name, 'en') !== name)).toEqual([]);
});

test('a state is a word in Chinese behind its shape, on a terminal alone', () => {
  const listed = (outIsTty: boolean, language: 'zh' | 'en'): string => {
    let out = '';
    const output = createOutput(
      { out: { write: (text) => (out += text) }, err: { write: () => undefined }, outIsTty, columns: 80 },
      { format: 'table', header: true, wide: false },
      undefined,
      (cells, column) => withMarks(cells, column, true, language),
      (name) => headingOf(name, language),
    );
    const rows = [
      { name: 'enabled', status: 'enabled' },
      { name: 'two', status: 'auto-disabled' },
      { name: 'odd', status: 'of another kind' },
    ];
    const column = (name: 'name' | 'status') => ({ name, value: (row: (typeof rows)[number]) => row[name] });
    output.list(rows, [column('name'), column('status')], ({ name }) => name);
    return out;
  };
  expect(listed(true, 'zh').split('\n')).toEqual([
    '名称     状态',
    'enabled  ● 已启用',
    'two      ✗ 自动禁用',
    'odd        of another kind',
    '',
  ]);
  expect(listed(true, 'en')).toMatch(/^NAME +STATUS\nenabled +● enabled\n/);
  expect(listed(false, 'zh')).toBe('enabled\tenabled\ntwo\tauto-disabled\nodd\tof another kind\n');
  expect([stateIn('ok', 'zh'), stateIn('ok', 'en'), stateIn('anything', 'zh')]).toEqual(['正常', 'ok', 'anything']);
});
