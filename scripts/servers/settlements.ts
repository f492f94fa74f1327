/** Requests that were charged, as many as one likes, the same for the same number. */
import type { Settle } from '../../server/billing/ledger/commands.ts';

export const users = 500;
export const models = ['gpt-4o', 'gpt-4o-mini', 'claude-sonnet-4', 'gemini-2.5-pro', 'o3'];
/** Epoch seconds of the first. */
export const start = 1_700_000_000;

/** Facts of each row. */
export const other = JSON.stringify({
  model_ratio: 1.25,
  model_price: -1,
  completion_ratio: 4,
  group_ratio: 1,
  cache_tokens: 0,
  cache_ratio: 0.5,
  input: 1000,
  output: 200,
  frt: 350,
  ms: 2100,
  admin_info: { use_channel: ['1'] },
});

/** One user in a thousand requests is rare, one model and one group too. */
export function settlementOf(index: number, at: number): Settle {
  const userId = index % 1000 === 0 ? users : 1 + (index % (users - 1));
  const model = index % 100_000 === 7 ? 'rare-model' : (models[index % models.length] ?? '');
  const group = index % 100_000 === 11 ? 'rare' : 'default';
  return {
    type: 'settle',
    ref: `20261120${String(index).padStart(12, '0')}abcdefgh`,
    userId,
    tokenId: userId,
    channelId: 1 + (index % 40),
    amount: 2250,
    at,
    tokens: 1200,
    model,
    username: `user${userId}`,
    log: {
      requestId: `20261120${String(index).padStart(12, '0')}abcdefgh`,
      createdAt: at,
      type: index % 50 === 3 ? 5 : 2,
      userId,
      username: `user${userId}`,
      tokenId: userId,
      tokenName: userId === users ? 'rare-token' : 'default',
      channelId: 1 + (index % 40),
      group,
      model,
      isStream: index % 2 === 0,
      useTime: 2,
      promptTokens: 1000,
      completionTokens: 200,
      quota: 2250,
      content: '',
      other,
      usageSource: 'reported',
      endReason: 'completed',
    },
  };
}
