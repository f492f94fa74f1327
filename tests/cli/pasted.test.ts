/** Keys of many lines that are pasted where one line is asked for. */
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { withInput } from '../../cli/parts/secret-input.ts';
import { askLine } from '../../cli/prompt.ts';

const account = JSON.stringify({ type: 'service_account', private_key: '-----BEGIN\\nx\\n' }, null, 2);

const terminal = (setRawMode: (on: boolean) => void = () => {}) =>
  Object.assign(new EventEmitter(), { setRawMode, setEncoding: () => {}, resume: () => {}, pause: () => {} });

test.each([
  ['at once', [`${account}\n`], account],
  ['with the line ends of a terminal', [`${account.replaceAll('\n', '\r')}\r`], account],
  ['in pieces', [...`${account}\n`], account],
  ['as one line', [`${JSON.stringify(JSON.parse(account))}\n`], JSON.stringify(JSON.parse(account))],
  ['an ordinary key', ['sk-1\nmore'], 'sk-1'],
  ['a brace that was never closed, given up by an empty line', ['{oops\n\n'], '{oops'],
])('a key that is pasted %s is one answer', async (_name, chunks, expected) => {
  const stdin = terminal();
  const shown: string[] = [];
  const answer = askLine(
    stdin as unknown as NodeJS.ReadStream,
    { write: (text: string) => shown.push(text) },
    'Key: ',
    true,
  );
  for (const chunk of chunks) stdin.emit('data', chunk);
  expect(await answer).toBe(expected);
  expect(shown.join('')).not.toContain('BEGIN');

  let text = '';
  let whole = false;
  for (const chunk of chunks) if (!whole) ({ text, whole } = withInput(text, chunk));
  expect({ text, whole }).toEqual({ text: expected, whole: true });
});

test.each([
  ['answered', 'name\n'],
  ['given up', '\u001b'],
])('a question that is %s leaves the terminal as it found it', async (_how, typed) => {
  const modes: boolean[] = [];
  const stdin = terminal((on) => modes.push(on));
  const answer = askLine(stdin as unknown as NodeJS.ReadStream, { write: () => true }, 'Name: ', false);
  stdin.emit('data', typed);
  await answer.catch(() => undefined);
  expect(modes).toEqual([true, false]);
  expect(stdin.listenerCount('data')).toBe(0);
});

test('a list that is pasted is one answer where a list is wanted, and is never cut silently elsewhere', () => {
  const pasted = 'sk-1\r\nsk-2\n\nsk-3\n';
  expect(withInput('', pasted, true)).toEqual({ text: 'sk-1\nsk-2\n\nsk-3', whole: true, left: false });
  expect(withInput('', pasted)).toMatchObject({ whole: true, left: true });
  expect(withInput('', 'sk-1\n')).toEqual({ text: 'sk-1', whole: true, left: false });
});

test('a list of keys that is pasted into a plain terminal is one answer', async () => {
  const stdin = terminal();
  const screen = { write: () => true };
  const answer = askLine(stdin as unknown as NodeJS.ReadStream, screen, 'Keys: ', true, true);
  stdin.emit('data', 'sk-1\nsk-2\nsk-3\n');
  expect((await answer).split('\n')).toEqual(['sk-1', 'sk-2', 'sk-3']);
});
