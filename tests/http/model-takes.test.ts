/** What the playground offers for a model follows from what is known of it, the operator's own rows included. */
import { expect, test } from 'vitest';
import { createTestGateway } from '../support/gateway.ts';

test('a user hears which parameters a model takes', async () => {
  const gateway = await createTestGateway();
  const user = { via: 'session', userId: gateway.userId, username: 'tester', role: 1, group: 'default' } as const;
  const takes = (model: string) => gateway.call('model.takes', { model }, user);
  expect(await takes('o3-mini')).toMatchObject({
    ...{ output_cap: 100_000, efforts: ['low', 'medium', 'high'] },
    refuses: expect.arrayContaining(['temperature', 'topP', 'stop']),
  });
  expect(await takes('my-model')).toEqual({
    ...{ output_cap: null, input_limit: null, efforts: null, refuses: [], inputs: null },
  });
  await gateway.services.options.set('model_rules', '[{"models":"^my-","refuses":["seed"],"outputCap":99}]', 100);
  expect(await takes('my-model')).toMatchObject({ output_cap: 99, refuses: ['seed'] });
  await gateway.close();
});
