import { expect, test } from 'vitest';
import { explain } from '../../cli/commands/logs/explanation.ts';
import { atTerminal } from './at-terminal.ts';

const refused = async (facts: object, language: 'zh' | 'en' = 'en'): Promise<string> => {
  const other = JSON.stringify({ refused: 'token_exhausted', status: 403, ...facts });
  const row = { id: 9, created_at: 0, username: 'ann', token_name: 'ci', model_name: 'm', content: '', other };
  return (await atTerminal(explain, { answers: { 'log.get': row }, args: ['9'], language })).out;
};

const billed = async (facts: object, quota: number, language: 'zh' | 'en' = 'en'): Promise<string> => {
  const other = JSON.stringify({ model_ratio: 0.01, model_price: -1, group_ratio: 1, input: 149, ...facts });
  const row = { id: 9, created_at: 0, model_name: 'm', request_id: 'r', usage_source: 'reported', quota, other };
  const status = { quota_per_unit: 500_000, display_in_currency: true };
  const said = await atTerminal(explain, { answers: { 'log.get': row, 'status.get': status }, args: ['9'], language });
  return said.out;
};

test('a charge names what earlier requests left of a unit, and is recomputed with it', async () => {
  const said = await billed({ carried: 0.51 }, 2);
  expect(said).toContain('+ 0.51 carried over from earlier requests');
  expect(said).toContain('equals the charge');
  expect(await billed({ carried: 0.51 }, 2, 'zh')).toContain('+ 0.51 此前请求不足一个额度单位的余数');
  for (const facts of [{ carried: 0 }, {}]) {
    const plain = await billed(facts, 1);
    expect(plain).toContain('equals the charge');
    expect(plain).not.toContain('carried over');
  }
});

test('a charge says what is odd about the usage that the upstream reported', async () => {
  const said = await billed({ usage_marks: ['corrected', 'above_sent', 'unheard-of', 'constructor'] }, 1);
  expect(said.split('\n').filter((line) => line.includes('!'))).toEqual([
    "  ! the upstream's last report lowered an earlier one; the last one counts",
    '  ! a prompt far larger than what was sent',
  ]);
  expect(await billed({ usage_marks: ['above_limit', 'above_delivered'] }, 1, 'zh')).toContain(
    '输出 Tokens 多于上游发来的字节',
  );
});

test('a refused request names the rule, who asked, what was left out of the reading, and that it cost nothing', async () => {
  const said = await refused({});
  expect(said).toContain('refused: token_exhausted, HTTP 403');
  expect(said).toContain('ann / ci');
  expect(said).toContain('no charge');
  expect(said).not.toContain('before the body was read');
  expect(await refused({ unread: true })).toContain('before the body was read');
  expect(await refused({ unread: true }, 'zh')).toContain('尚未读取请求体');
});
