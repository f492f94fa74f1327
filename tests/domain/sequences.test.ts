/** Management, edits and resets through the API itself, in any order. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Role } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { canActOn, userActions } from '../../server/domain/users/authority.ts';
import type { Actor } from '../../server/http/call.ts';
import { figure } from '../support/figure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { often } from '../support/often.ts';

let gateway: TestGateway;
let ids: readonly number[];
const people = 5;
const sequences = often(80, 2000, 'SEQUENCES');

beforeAll(async () => {
  gateway = await createTestGateway();
  const made = [];
  for (let at = 0; at < people; at++)
    made.push(
      await gateway.services.users.create({
        username: `p${at}`,
        password: 'password1',
        displayName: '',
        role: Role.user,
        quota: 0,
      }),
    );
  ids = made;
});
afterAll(() => gateway.close());

const rowsNow = () =>
  gateway.rows<{
    id: number;
    username: string;
    role: number;
    status: number;
    deleted_at: number | null;
    content: string;
  }>(
    `SELECT id, username, role, status, deleted_at,
            password_hash || '|' || group_name || '|' || display_name || '|' || email AS content
       FROM users WHERE id IN (${ids.join(',')}) ORDER BY id`,
  );

/** One root, the others as given, everybody open. */
async function reset(roles: readonly number[]): Promise<void> {
  for (const [at, id] of ids.entries())
    await gateway.rows(
      'UPDATE users SET role = ?, status = 1, deleted_at = NULL WHERE id = ?',
      at === 0 ? Role.root : (roles[at - 1] ?? Role.user),
      id,
    );
}

/** Fields that nobody may set this way, in every body. */
const greedy = { role: 100, Role: 100, status: 1, DeletedAt: null, deleted_at: null, access_token: 'x', id_card: 1 };
const calls = {
  manage: (id: number, action: string) => ['user.manage', { id, action, ...greedy }] as const,
  edit: (id: number) => ['user.update', { ...greedy, id, display_name: 'edited', group: 'vip' }] as const,
  quota: (id: number) => ['user.update', { ...greedy, id, add_quota: 5 }] as const,
  password: (id: number) => ['user.update', { ...greedy, id, password: 'password2' }] as const,
  resetSecond: (id: number) => ['second_factor.reset', { ...greedy, id }] as const,
  remove: (id: number) => ['user.delete', { ...greedy, id }] as const,
  self: (id: number) => ['user.update_self', { ...greedy, id, display_name: 'mine' }] as const,
  selfPassword: (id: number) => ['user.update_self', { ...greedy, id, password: 'password3' }] as const,
  setting: (id: number) => ['account.setting', { ...greedy, id, language: 'en' }] as const,
  token: (id: number) => ['token.create', { ...greedy, id, name: 'a' }] as const,
} as const;
const names = Object.keys(calls) as (keyof typeof calls)[];

test('sequences of management, edits and resets raise no user to or above the role of the actor', async () => {
  const step = fc.record({
    actor: fc.nat(people - 1),
    target: fc.nat(people - 1),
    // Management has five actions; it comes as often as all edits together.
    call: fc.oneof(fc.constant('manage' as const), fc.constantFrom(...names)),
    action: fc.constantFrom(...userActions),
  });
  const roles = fc.array(fc.constantFrom(Role.user, Role.admin, Role.admin), { minLength: 4, maxLength: 4 });
  const tally = { calls: 0, done: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(roles, fc.array(step, { minLength: 1, maxLength: 6 }), async (given, steps) => {
      await reset(given);
      let before = await rowsNow();
      for (const { actor: at, target, call, action } of steps) {
        const who = before[at];
        const whom = before[target];
        if (who === undefined || whom === undefined || who.deleted_at !== null || who.status !== 1) continue;
        const actor: Actor = {
          via: 'session',
          userId: who.id,
          username: who.username,
          role: who.role,
          group: 'default',
        };
        const [id, input] = call === 'manage' ? calls.manage(whom.id, action) : calls[call](whom.id);
        tally.calls += 1;
        try {
          await gateway.call(id, input, actor);
          tally.done += 1;
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          expect((error as AppError).code).not.toBe('internal');
          tally.refused += 1;
        }
        const after = await rowsNow();
        for (const [index, row] of after.entries()) {
          const was = before[index];
          if (was === undefined || Bun.deepEquals(row, was)) continue;
          const mine = row.id === who.id;
          expect(mine || canActOn(who, was)).toBe(true);
          if (row.role > was.role) {
            expect(mine).toBe(false);
            expect(row.role).toBeLessThan(who.role);
          }
          if (was.deleted_at !== null) expect(row.deleted_at).toBe(was.deleted_at);
        }
        before = after;
      }
      expect(before[0]).toMatchObject({ role: Role.root, status: 1, deleted_at: null });
      expect(before.slice(1).every(({ role }) => role <= Role.admin)).toBe(true);
    }),
    { numRuns: sequences },
  );
  figure(`${sequences} sequences, ${tally.calls} calls: ${tally.done} done, ${tally.refused} refused`);
  expect(Math.min(tally.done, tally.refused)).toBeGreaterThan(sequences / 10);
});
