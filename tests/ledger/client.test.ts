import { expect, test } from 'vitest';
import { type CommandMessage, createLedgerClient, type LedgerPort } from '../../server/ledger/client.ts';
import { settle } from './support.ts';

test('answers that end one after another in one turn of the event loop travel to the ledger as one message', async () => {
  const messages: CommandMessage[] = [];
  const port: LedgerPort = { postMessage: (text) => messages.push(JSON.parse(String(text))), onmessage: null };
  const client = createLedgerClient(port);
  const results: unknown[] = [];
  for (let index = 0; index < 5; index++) {
    // Every answer ends in its own task: the microtasks of one have run before the next begins.
    await Promise.resolve();
    client.execute(settle(`request-${index}`, 1, 10)).then((result) => results.push(result));
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(messages.map(({ first, commands }) => [first, commands.length])).toEqual([[1, 5]]);
  const answers = JSON.stringify({ kind: 'answers', ids: [1, 2, 3, 4, 5], answers: [null, null, null, null, null] });
  port.onmessage?.({ data: answers } as MessageEvent<string>);
  await Promise.resolve();
  expect(results).toEqual(Array(5).fill({ status: 'done' }));
});
