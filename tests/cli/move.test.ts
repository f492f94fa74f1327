import { expect, test } from 'vitest';
import { move } from '../../cli/commands/data/move.ts';
import { atTerminal } from './at-terminal.ts';

test('a site is moved on its own machine, to an address of PostgreSQL', async () => {
  await expect(atTerminal(move, { global: { url: 'https://site.example' } })).rejects.toMatchObject({
    code: 'usage',
    params: { detail: '--url' },
  });
  for (const address of ['', 'file:///tmp/x'])
    await expect(atTerminal(move, { args: [address] }), address).rejects.toMatchObject({ code: 'database_address' });
});
