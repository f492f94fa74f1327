/** The same work on several things: all are tried, one line each, a failure at the end when any failed. */
import { AppError, formatError } from '../../server/contract/errors.ts';
import type { Client } from '../client.ts';
import type { CommandRun, FlagValues } from '../command.ts';
import type { Context } from '../context.ts';

interface Thing {
  readonly id: number;
  readonly name: string;
}

interface BulkResult extends Thing {
  readonly result: string;
}

/** @param dryRun nothing is done, only said. @throws the failure itself when there was but one thing, AppError check_failed when some of several failed. */
export async function eachOf<Item extends Thing>(
  context: Context,
  items: readonly Item[],
  work: (thing: Item) => Promise<string>,
  dryRun = false,
): Promise<void> {
  const outcomes: BulkResult[] = [];
  let failed = 0;
  for (const thing of items) {
    const { id, name } = thing;
    try {
      const result = dryRun ? context.say('未改动（预演）', 'unchanged (dry run)') : await work(thing);
      outcomes.push({ id, name, result });
    } catch (error) {
      if (items.length === 1 || !(error instanceof AppError)) throw error;
      failed++;
      outcomes.push({ id, name, result: formatError(error.code, error.params, context.language) });
    }
  }
  context.output.list(
    outcomes,
    [
      { name: 'id', value: (row) => String(row.id), right: true },
      { name: 'name', value: (row) => row.name },
      { name: 'result', value: (row) => row.result },
    ],
    (row) => String(row.id),
  );
  if (failed > 0) throw new AppError('check_failed', { detail: `${failed}/${outcomes.length}` });
}

type Words = readonly [zh: string, en: string];

/** A command that does the same to each of the things that its arguments name. */
export const onEach =
  <Item extends Thing>(
    find: (client: Client, flags: FlagValues, refs: readonly string[]) => Promise<readonly Item[]>,
    work: (client: Client, thing: Item, flags: FlagValues) => Promise<string>,
    question?: (items: readonly Item[], client: Client) => Words | undefined | Promise<Words | undefined>,
  ): CommandRun =>
  async (context, flags, _ref, refs) => {
    const client = await context.client();
    const items = await find(client, flags, refs);
    const dry = flags.dryRun === true;
    const words = dry ? undefined : await question?.(items, client);
    if (words !== undefined) await context.confirm(context.say(...words));
    await eachOf(context, items, (thing) => work(client, thing, flags), dry);
  };

/** The deletion of each of them, after a question. @param label what stands for it in the question. @param also what the question says besides. */
export const removal = <Item extends Thing>(
  call:
    | 'channel.delete'
    | 'token.delete'
    | 'redemption.delete'
    | 'access_token.delete'
    | 'virtual_model.delete'
    | 'budget.delete'
    | 'statement.delete_schedule'
    | 'sign_in.end',
  find: (client: Client, flags: FlagValues, refs: readonly string[]) => Promise<readonly Item[]>,
  [zh, en]: Words,
  label: (thing: Item) => string | number = ({ name }) => name,
  also: (items: readonly Item[], client: Client) => Promise<Words | undefined> = async () => undefined,
): CommandRun =>
  onEach(
    find,
    async (client, { id }) => {
      await client.call(call, { id });
      return 'deleted';
    },
    async (items, client) => {
      const names = items.map(label).join(', ');
      const [alsoZh, alsoEn] = (await also(items, client)) ?? ['', ''];
      return [`${alsoZh}删除${zh} ${names}？`, `${alsoEn}Delete ${en} ${names}?`];
    },
  );
