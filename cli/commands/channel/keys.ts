/** Single keys of one channel. A key is named by its id, or by a hint that it alone has. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';
import { isoTime } from '../../output.ts';
import type { RowOf } from '../../parts/list-output.ts';
import { findChannel } from './fields.ts';

type Key = RowOf<'channel.keys'>;

const secondsOf = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

/** Of the key, else of the models at which it waits. */
const waitOf = ({ wait_ms: ms, waiting_models: models }: Key): string =>
  ms > 0 ? secondsOf(ms) : models.map(({ model, wait_ms }) => `${model} ${secondsOf(wait_ms)}`).join(', ');

const timeOf = (at: number): string => (at === 0 ? '' : isoTime(at));

export const list: CommandRun = async (context, _flags, ref) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  context.output.list(
    await client.call('channel.keys', { id }),
    [
      { name: 'key', value: (row) => row.key_id },
      { name: 'hint', value: (row) => row.hint },
      { name: 'status', value: (row) => row.status.replace('_', ' ') },
      { name: 'waits', value: waitOf },
      { name: 'used', value: (row) => timeOf(row.used_time) },
      { name: 'failed', value: (row) => timeOf(row.error_time) },
      { name: 'error', value: (row) => row.error },
    ],
    (row) => row.key_id,
  );
};

const setStatus =
  (status: 'in_use' | 'off'): CommandRun =>
  async (context, _flags, ref, [, key = '']) => {
    const client = await context.client();
    const { id } = await findChannel(client, ref);
    const changed = await client.call('channel.key_update', { id, key_id: key, status });
    const line = `${changed.key_id}  ${changed.hint}  ${changed.status.replace('_', ' ')}`;
    context.output.object(changed, [line], changed.key_id);
  };

export const enable = setStatus('in_use');
export const disable = setStatus('off');

export const test: CommandRun = async (context, flags, ref, [, key = '']) => {
  const client = await context.client();
  const { id } = await findChannel(client, ref);
  const wanted = { id, key_id: key, model: text(flags.model), stream: flags.stream === true };
  const result = await client.call('channel.key_test', wanted);
  const { success, message, time } = result;
  context.output.object(result, [success ? `ok  ${time.toFixed(3)} s` : `failed  ${message}`], key);
  if (!success) throw new AppError('check_failed', { detail: key });
};
