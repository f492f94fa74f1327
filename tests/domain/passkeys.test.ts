import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway();
  await gateway.option('ServerAddress', 'https://site.example');
});
afterAll(() => gateway.close());

test('one account has so many passkeys and no more', async () => {
  const { userId, services, database } = gateway;
  const user = await database.query.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow();
  const optionsOf = () => services.passkeys.registerOptions(user as never, 'https://site.example');
  const add = (id: number) =>
    database.query
      .insertInto('passkeys')
      .values({
        credential_id: `c${id}`,
        user_id: userId,
        name: '',
        public_key: '',
        counter: 0,
        transports: '[]',
        created_at: 1,
        last_used_at: 0,
      })
      .execute();
  let failure: unknown = null;
  let kept = 0;
  while (failure === null && kept < 100) {
    failure = await optionsOf().then(
      () => null,
      (error: unknown) => error,
    );
    if (failure === null) await add(kept++);
  }
  expect(failure).toMatchObject({ code: 'passkey_limit', params: { most: kept } });
});
