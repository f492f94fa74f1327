import { expect, test } from 'vitest';
import { createPasskeysRepository } from '../../db/repositories/passkeys.ts';
import { engines } from '../support/engines.ts';

test.each(engines)(
  '$name: a passkey is renamed and removed by its owner alone, who hears whether it was there',
  async (engine) => {
    const database = await engine.open();
    const passkeys = createPasskeysRepository(database);
    await database.query
      .insertInto('users')
      .values({ id: 2, username: 'ann', password_hash: 'x', created_at: 1 } as never)
      .execute();
    const key = { credential_id: 'c', user_id: 2, name: 'key', public_key: 'p', counter: 0, transports: '' };
    await passkeys.create({ ...key, created_at: 1, last_used_at: 0 });
    const [row] = await passkeys.list(2);
    const id = row?.id ?? 0;
    expect(await passkeys.rename(id, 3, 'other')).toBe(false);
    expect(await passkeys.rename(id, 2, 'desk')).toBe(true);
    expect((await passkeys.list(2)).map(({ name }) => name)).toEqual(['desk']);
    expect(await passkeys.remove(id, 3)).toBe(false);
    expect(await passkeys.remove(id, 2)).toBe(true);
    expect(await passkeys.remove(id, 2)).toBe(false);
    await database.close();
  },
);
