/** Virtual models: what is stored of them is sound, and their names are no models of channels. */

import type { Database } from '../../../db/open.ts';
import type { ChannelRow } from '../../../db/repositories/channels.ts';
import { createChannelsRepository } from '../../../db/repositories/channels.ts';
import { createVirtualModelsRepository, type VirtualModelRow } from '../../../db/repositories/virtual-models.ts';
import { AppError } from '../../contract/errors.ts';
import {
  type ChainTarget,
  isProblem,
  maxVirtualModels,
  readVirtualModel,
  targetsIn,
  type VirtualModel,
  type VirtualModelFields,
} from '../../contract/virtual-models.ts';
import { chainProblems } from '../../routing/chains.ts';

export interface VirtualModelView extends VirtualModelFields {
  readonly id: number;
  /** Epoch seconds. */
  readonly created_time: number;
  readonly updated_time: number;
}

/** As the relay knows it. */
export const virtualModelOf = ({ id, name, enabled, boundary, targets }: VirtualModelRow): VirtualModel => ({
  id,
  name,
  enabled: enabled === 1,
  boundary,
  targets: targetsIn(targets),
});

const viewOf = (row: VirtualModelRow): VirtualModelView => ({
  ...virtualModelOf(row),
  description: row.description,
  created_time: row.created_at,
  updated_time: row.updated_at,
});

const columnsOf = ({ name, enabled, boundary, description, targets }: VirtualModelFields) => ({
  name,
  enabled: enabled ? 1 : 0,
  boundary,
  description,
  targets: JSON.stringify(targets),
});

const modelsOf = ({ models }: Pick<ChannelRow, 'models'>): readonly string[] =>
  models.split(',').map((name) => name.trim());

export function createVirtualModels(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createVirtualModelsRepository(deps.database);
  const channels = createChannelsRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);

  const find = async (id: number): Promise<VirtualModelRow> => {
    const row = (await repository.all()).find((one) => one.id === id);
    if (row === undefined) throw new AppError('not_found', { what: `virtual model ${id}` });
    return row;
  };

  /** @param id of the one that changes; 0 = it is new. @throws AppError virtual_model_* */
  const checked = async (id: number, value: Readonly<Record<string, unknown>>): Promise<VirtualModelFields> => {
    const fields = readVirtualModel(value);
    if (isProblem(fields)) throw new AppError('virtual_model_invalid', { ...fields });
    const others = (await repository.all()).filter((row) => row.id !== id);
    if (others.length >= maxVirtualModels) throw new AppError('virtual_model_many', { most: maxVirtualModels });
    const { name } = fields;
    if (others.some((row) => row.name === name)) throw new AppError('virtual_model_taken', { name });
    const serving = (await channels.all()).find((row) => modelsOf(row).includes(name));
    if (serving !== undefined) throw new AppError('virtual_model_of_channel', { name, channel: serving.name });
    const [problem] = chainProblems([...others.map(virtualModelOf), fields]);
    if (problem !== undefined) throw new AppError(`virtual_model_${problem.kind}`, { path: problem.path.join(' → ') });
    return fields;
  };

  return {
    list: async (): Promise<VirtualModelView[]> => (await repository.all()).map(viewOf),
    get: async (id: number): Promise<VirtualModelView> => viewOf(await find(id)),
    /** By its name, whether enabled or not. @throws AppError not_found */
    async named(name: string): Promise<VirtualModelView> {
      const row = (await repository.all()).find((one) => one.name === name);
      if (row === undefined) throw new AppError('not_found', { what: `virtual model ${name}` });
      return viewOf(row);
    },
    /** @throws AppError virtual_model_* */
    async create(value: Readonly<Record<string, unknown>>): Promise<VirtualModelView> {
      const fields = await checked(0, value);
      const at = seconds();
      return viewOf(await repository.create({ ...columnsOf(fields), created_at: at, updated_at: at }));
    },
    /** Members that are absent stay as they are. @throws AppError not_found, virtual_model_* */
    async update(
      id: number,
      change: Readonly<Record<string, unknown>>,
    ): Promise<{ readonly model: VirtualModelView; readonly changed: boolean }> {
      const stored = viewOf(await find(id));
      const given = Object.fromEntries(Object.entries(change).filter(([, one]) => one !== undefined));
      const fields = await checked(id, { ...stored, ...given });
      // Another chain would lose what it leads to.
      if (fields.name !== stored.name) await isFree(stored.name, id);
      const columns = columnsOf(fields);
      const before: Readonly<Record<string, unknown>> = columnsOf(stored);
      if (Object.entries(columns).every(([name, one]) => before[name] === one))
        return { model: stored, changed: false };
      const row = await repository.update(id, { ...columns, updated_at: seconds() });
      if (row === undefined) throw new AppError('not_found', { what: `virtual model ${id}` });
      return { model: viewOf(row), changed: true };
    },
    /** @throws AppError not_found, virtual_model_used */
    async remove(id: number): Promise<void> {
      const { name } = await find(id);
      await isFree(name, id);
      await repository.remove(id);
    },
  };

  async function isFree(name: string, id: number): Promise<void> {
    const user = (await repository.all()).find(
      (row) => row.id !== id && targetsIn(row.targets).some(({ model }: ChainTarget) => model === name),
    );
    if (user !== undefined) throw new AppError('virtual_model_used', { name, by: user.name });
  }
}

export type VirtualModelsService = ReturnType<typeof createVirtualModels>;
