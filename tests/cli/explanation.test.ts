import { expect, test } from 'vitest';
import { explain } from '../../cli/commands/logs/explanation.ts';
import { atTerminal } from './at-terminal.ts';

const refused = async (facts: object, language: 'zh' | 'en' = 'en'): Promise<string> => {
  const other = JSON.stringify({ refused: 'token_exhausted', status: 403, ...facts });
  const row = { id: 9, created_at: 0, username: 'ann', token_name: 'ci', model_name: 'm', content: '', other };
  return (await atTerminal(explain, { answers: { 'log.get': row }, args: ['9'], language })).out;
};

test('a refused request names the rule, who asked, what was left out of the reading, and that it cost nothing', async () => {
  const said = await refused({});
  expect(said).toContain('refused: token_exhausted, HTTP 403');
  expect(said).toContain('ann / ci');
  expect(said).toContain('no charge');
  expect(said).not.toContain('before the body was read');
  expect(await refused({ unread: true })).toContain('before the body was read');
  expect(await refused({ unread: true }, 'zh')).toContain('尚未读取请求体');
});
