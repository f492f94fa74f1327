/** Virtual models of a declarative file; natural key: the name. */
import type { ProvisionChange, ProvisionedVirtualModel } from '../../contract/provision.ts';
import { isProblem, readTarget } from '../../contract/virtual-models.ts';
import type { VirtualModelsService } from '../virtual-models/service.ts';
import { changedFields, describeChanges } from './compare.ts';

/** As they are stored, so that empty members are no difference; what is wrong is said by whoever saves it. */
const asStored = (targets: readonly unknown[]): string =>
  JSON.stringify(
    targets.map((target, at) => {
      const read = readTarget(target, at);
      return isProblem(read) ? target : read;
    }),
  );

export async function applyVirtualModels(
  service: VirtualModelsService,
  expected: readonly ProvisionedVirtualModel[],
): Promise<ProvisionChange[]> {
  const changes: ProvisionChange[] = [];
  const present = new Map((await service.list()).map((one) => [one.name, one]));
  for (const model of expected) {
    const about = { kind: 'virtual_model', name: model.name } as const;
    const row = present.get(model.name);
    if (row === undefined) {
      await service.create(model);
      changes.push({ action: 'create', ...about, fields: [] });
      continue;
    }
    const current = { ...row, targets: JSON.stringify(row.targets) };
    const changed = changedFields({ ...model, targets: asStored(model.targets) }, current);
    const fields = describeChanges(changed, current);
    if (fields.length > 0) await service.update(row.id, model);
    changes.push({ action: fields.length > 0 ? 'update' : 'unchanged', ...about, fields });
  }
  return changes;
}
