/** States are said by a shape and a word wherever people read them, and by the word alone where programs do. */
import { expect, test } from 'vitest';
import { createOutput } from '../../cli/output.ts';
import { drawsUnicode, markOf, withMarks } from '../../cli/parts/state-marks.ts';

/** Every word that a list of the command line has under status, state or result. */
const states = [
  ...['enabled', 'disabled', 'auto-disabled', 'expired', 'exhausted', 'closed', 'unused', 'used', 'in use', 'waiting'],
  ...[
    'refused',
    'off',
    'serving',
    'slow',
    'failing',
    'standby',
    'idle',
    'live',
    'live (disk full)',
    'draining',
    'gone',
  ],
  ...['pending', 'success', 'muted', 'on', 'opens', 'sent', 'revoked', 'ok', 'warn', 'fail', 'FAILED', '3 VIOLATIONS'],
  ...['NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'MODAL'],
  ...['正常', '注意', '失败', '有效', '已撤回', '已过期'],
];
const listed = (isTty: boolean, wide: boolean, env: Readonly<Record<string, string>>): string[] => {
  let out = '';
  const output = createOutput(
    { out: { write: (text) => (out += text) }, err: { write: () => undefined }, outIsTty: isTty, columns: 80 },
    { format: 'table', header: false, wide },
    undefined,
    (cells, column) => withMarks(cells, column, drawsUnicode(env)),
  );
  const rows = [
    { name: 'one', status: 'enabled' },
    { name: 'two', status: 'disabled' },
    { name: 'six', status: 'expired' },
    { name: 'odd', status: 'of another kind' },
    { name: 'none', status: '' },
  ];
  const column = (name: 'name' | 'status') => ({ name, value: (row: (typeof rows)[number]) => row[name] });
  output.list(rows, [column('status'), column('name')], ({ name }) => name);
  return out.trimEnd().split('\n');
};

test.each(states)('%s has a shape, with and without Unicode', (state) => {
  for (const unicode of [true, false]) expect(markOf(state, unicode)).toMatch(unicode ? /^[●◐✗○·–]$/u : /^[*~!o.-]$/);
});

test('what goes well, waits, fails and is off have four shapes, so that none needs its colour', () => {
  for (const unicode of [true, false])
    expect(new Set(['enabled', 'slow', 'failed', 'disabled'].map((state) => markOf(state, unicode))).size).toBe(4);
});

test('on a terminal the shape stands before the word, the same with --wide, and words without one stand under the others', () => {
  for (const wide of [false, true]) {
    expect(listed(true, wide, { LANG: 'C.UTF-8' })).toEqual([
      '● enabled          one',
      '– disabled         two',
      '✗ expired          six',
      '  of another kind  odd',
      '                   none',
    ]);
    expect(
      listed(true, wide, { LANG: 'C' })
        .slice(0, 3)
        .map((line) => line[0]),
    ).toEqual(['*', '-', '!']);
  }
});

test('a pipe reads the words alone', () => {
  expect(listed(false, false, { LANG: 'C.UTF-8' })).toEqual([
    ...['enabled\tone', 'disabled\ttwo', 'expired\tsix', 'of another kind\todd', '\tnone'],
  ]);
});

test('results that are no states stay at the edge of their column', () => {
  expect(withMarks(['deleted', 'deleted'], 'result', true)).toEqual(['deleted', 'deleted']);
  expect(withMarks(['enabled', 'deleted', ''], 'result', true)).toEqual(['● enabled', '  deleted', '']);
  expect(withMarks(['enabled'], 'name', true)).toEqual(['enabled']);
  expect(withMarks(['deleted', 'deleted'], 'result', true, 'zh')).toEqual(['已删除', '已删除']);
});
