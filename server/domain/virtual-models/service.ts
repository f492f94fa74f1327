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
import { refuseOlderNodes } from '../nodes/older.ts';

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

/** As it stays until a save is through. */
interface Stored {
  readonly models: ReturnType<typeof createVirtualModelsRepository>;
  readonly channels: ReturnType<typeof createChannelsRepository>;
  /** @throws AppError virtual_model_node */
  readonly checkNodes: (fields: VirtualModelFields) => Promise<void>;
}

export function createVirtualModels(deps: { readonly database: Database; readonly now: () => number }) {
  const repository = createVirtualModelsRepository(deps.database);
  /** Two saves at once would each find the other's chain as it was. */
  const saving = <Of>(work: (stored: Stored) => Promise<Of>): Promise<Of> =>
    repository.alone((inside) =>
      work({
        models: createVirtualModelsRepository(inside),
        channels: createChannelsRepository(inside),
        checkNodes: ({ enabled }) => (enabled ? refuseOlderNodes(inside, 'virtual_model_node') : Promise.resolve()),
      }),
    );
  const seconds = () => Math.floor(deps.now() / 1000);

  const find = async (id: number, models: Stored['models'] = repository): Promise<VirtualModelRow> => {
    const row = (await models.all()).find((one) => one.id === id);
    if (row === undefined) throw new AppError('not_found', { what: `virtual model ${id}` });
    return row;
  };

  /** @param id of the one that changes; 0 = it is new. @throws AppError virtual_model_* */
  const checked = async (
    id: number,
    value: Readonly<Record<string, unknown>>,
    { models, channels }: Stored,
  ): Promise<VirtualModelFields> => {
    const fields = readVirtualModel(value);
    if (isProblem(fields)) throw new AppError('virtual_model_invalid', { ...fields });
    const others = (await models.all()).filter((row) => row.id !== id);
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
    create: (value: Readonly<Record<string, unknown>>): Promise<VirtualModelView> =>
      saving(async (stored) => {
        const fields = await checked(0, value, stored);
        await stored.checkNodes(fields);
        const at = seconds();
        return viewOf(await stored.models.create({ ...columnsOf(fields), created_at: at, updated_at: at }));
      }),
    /** Members that are absent stay as they are. @throws AppError not_found, virtual_model_* */
    update: (
      id: number,
      change: Readonly<Record<string, unknown>>,
    ): Promise<{ readonly model: VirtualModelView; readonly changed: boolean }> =>
      saving(async (stored) => {
        const { models } = stored;
        const before = viewOf(await find(id, models));
        const given = Object.fromEntries(Object.entries(change).filter(([, one]) => one !== undefined));
        const fields = await checked(id, { ...before, ...given }, stored);
        // Another chain would lose what it leads to.
        if (fields.name !== before.name) await isFree(before.name, id, models);
        const columns = columnsOf(fields);
        const present: Readonly<Record<string, unknown>> = columnsOf(before);
        if (Object.entries(columns).every(([name, one]) => present[name] === one))
          return { model: before, changed: false };
        await stored.checkNodes(fields);
        const row = await models.update(id, { ...columns, updated_at: seconds() });
        if (row === undefined) throw new AppError('not_found', { what: `virtual model ${id}` });
        return { model: viewOf(row), changed: true };
      }),
    /** @throws AppError not_found, virtual_model_used */
    remove: (id: number): Promise<void> =>
      saving(async ({ models }) => {
        const { name } = await find(id, models);
        await isFree(name, id, models);
        await models.remove(id);
      }),
  };

  async function isFree(name: string, id: number, models: Stored['models']): Promise<void> {
    const user = (await models.all()).find(
      (row) => row.id !== id && targetsIn(row.targets).some(({ model }: ChainTarget) => model === name),
    );
    if (user !== undefined) throw new AppError('virtual_model_used', { name, by: user.name });
  }
}

export type VirtualModelsService = ReturnType<typeof createVirtualModels>;
