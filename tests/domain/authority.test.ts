import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Role } from '../../server/contract/enum.ts';
import { AppError } from '../../server/contract/errors.ts';
import { canActOn, effectOf, userActions } from '../../server/domain/users/authority.ts';

interface Person {
  role: number;
  open: boolean;
}

/** People of every level do things to each other, in any order. */
test('no sequence of actions raises a user to or above the role of the actor, and the top role stays where it is', () => {
  const step = fc.record({ actor: fc.nat(5), target: fc.nat(5), action: fc.constantFrom(...userActions) });
  const levels = fc.array(fc.constantFrom(Role.user, Role.admin), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(levels, fc.array(step, { maxLength: 40 }), (roles, steps) => {
      const people: Person[] = [{ role: Role.root, open: true }, ...roles.map((role) => ({ role, open: true }))];
      for (const { actor, target, action } of steps) {
        const [who, whom] = [people[actor], people[target]];
        if (who === undefined || whom === undefined || !who.open || !whom.open || who === whom) continue;
        if (who.role < Role.admin) continue;
        const before = whom.role;
        let effect: ReturnType<typeof effectOf>;
        try {
          effect = effectOf(action, who, whom);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
          continue;
        }
        expect(canActOn(who, { role: before })).toBe(true);
        const after = effect.role ?? before;
        if (after > before) {
          expect(after).toBeLessThan(who.role);
          expect(who.role).toBe(Role.root);
        }
        whom.role = after;
        if (effect.closes === true) whom.open = false;
      }
      expect(people[0]).toEqual({ role: Role.root, open: true });
      expect(people.slice(1).every(({ role }) => role <= Role.admin)).toBe(true);
    }),
    { numRuns: 10_000 },
  );
});
