/** Redemption codes of a declarative file: single ones by the code itself, batches by their name. */
import type { Database } from '../../../db/open.ts';
import { createRedemptionsRepository } from '../../../db/repositories/redemptions.ts';
import { RedemptionStatus } from '../../contract/enum.ts';
import type { ProvisionChange, ProvisionedCode } from '../../contract/provision.ts';
import type { RedemptionsService } from '../redemptions/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { changedFields, describeChanges } from './compare.ts';
import { amountOf, expiryOf } from './values.ts';

export async function applyCodes(
  deps: { readonly database: Database; readonly redemptions: RedemptionsService; readonly vault: Vault },
  expected: readonly ProvisionedCode[],
  {
    creator,
    quotaPerUnit,
    now,
  }: { readonly creator: number; readonly quotaPerUnit: number /** Epoch seconds. */; readonly now: number },
): Promise<ProvisionChange[]> {
  const repository = createRedemptionsRepository(deps.database);
  const changes: ProvisionChange[] = [];
  for (const code of expected) {
    const { name } = code;
    const about = { kind: 'code', name } as const;
    const quota = amountOf('quota', code.quota, quotaPerUnit);
    const expires = (madeAt: number) => (code.expires === undefined ? undefined : expiryOf(code.expires, madeAt, 0));
    const fields = { name, quota, expired_time: expires(now) };
    const given = code.code?.trim() ?? '';
    if (given === '') {
      const missing = (code.count ?? 1) - (await repository.countNamed(name));
      if (missing > 0) await deps.redemptions.create(creator, { ...fields, count: missing });
      changes.push({
        action: missing > 0 ? 'create' : 'unchanged',
        ...about,
        fields: missing > 0 ? [`count: ${missing}`] : [],
      });
      continue;
    }
    const row = await repository.findByKey(deps.vault.keyHmac(given));
    if (row === undefined) {
      await deps.redemptions.create(creator, fields, given);
      changes.push({ action: 'create', ...about, fields: [] });
      continue;
    }
    const current = { name: row.name, quota: row.quota, expired_time: row.expires_at };
    const changed =
      row.status === RedemptionStatus.used
        ? {}
        : changedFields({ name, quota, expired_time: expires(row.created_at) }, current);
    const fieldChanges = describeChanges(changed, current);
    if (fieldChanges.length > 0) await deps.redemptions.update(row.id, changed, false);
    changes.push({ action: fieldChanges.length > 0 ? 'update' : 'unchanged', ...about, fields: fieldChanges });
  }
  return changes;
}
