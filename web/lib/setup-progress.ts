/** How far the way to the first answer has been gone: from what is stored, so that it goes on wherever it was left. */
import type { Channel, Log, Token } from '../../server/contract/entities.ts';
import { storedText } from '../../server/contract/stored-texts.ts';
import { call } from './api.ts';
import { useOptionalRead } from './read.ts';

const requests = 2;
const liveMs = 1500;

export interface Progress {
  readonly channel: Channel | null;
  readonly token: Token | null;
  /** A real request was served; its row while it is among the newest. */
  readonly request: boolean;
  readonly row: Log | null;
}

/** Tests of channels are requests without a user. */
const isTest = ({ token_name: name }: Log): boolean => name === storedText('channelTest');

async function progress(): Promise<Progress> {
  const [channels, tokens, logs, tests] = await Promise.all([
    call('channel.list', { p: 0, page_size: 1, id_sort: true }),
    call('token.list', { p: 0, size: 1 }),
    call('log.list', { p: 1, page_size: 20, type: requests }),
    call('log.list', { p: 1, page_size: 1, type: requests, token_name: storedText('channelTest') }),
  ]);
  return {
    channel: channels[0] ?? null,
    token: tokens[0] ?? null,
    request: logs.total > tests.total,
    row: logs.items.find((row) => !isTest(row)) ?? null,
  };
}

export const progressKey = ['first-steps'] as const;

/** Looks again until the first request has come. */
export const useProgress = (enabled: boolean) =>
  useOptionalRead({
    queryKey: progressKey,
    queryFn: progress,
    enabled,
    refetchInterval: (query) => (query.state.data?.request === true ? false : liveMs),
  }).data;
