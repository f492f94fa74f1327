/** The line under a channel in trouble: what its upstream says, since when, who served instead, and what can be done. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Channel } from '../../../server/contract/entities.ts';
import { storedIn } from '../../../server/contract/stored-texts.ts';
import { type ChannelTraffic, stateOf } from '../../components/channel-traffic.ts';
import { failureWords } from '../../lib/failure-words.ts';
import { dateTime, duration } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import type { ChannelActions } from './actions.ts';
import { failureOf, testErrorOf } from './failure.ts';

export interface ChannelNoteProps {
  readonly channel: Channel;
  readonly traffic: ChannelTraffic | undefined;
  readonly actions: ChannelActions;
  /** Why several channels fail, as it stands above the table; '' = there is no such reason. */
  readonly sharedReason: string;
  readonly onTest: (channel: Channel) => void;
}

const milliseconds = (value: number | null): string => (value === null ? '–' : duration(value / 1000));
/** The time alone, of this day. */
function clock(seconds: number): string {
  const text = dateTime(seconds);
  return text.startsWith(dateTime(Date.now() / 1000).slice(0, 10)) ? text.slice(11, 16) : text.slice(0, 16);
}
const act = 'inline-flex min-h-6 items-center text-accent-text hover:underline max-sm:min-h-11';

/** The log since then: of this channel, or of the one that served everything in its place. */
function requestsOf({ id }: Channel, { since, failed, saved, saved_by }: ChannelTraffic): string {
  const saver = saved_by[0]?.id;
  const channel = saver !== undefined && saved >= failed ? saver : id;
  return `/log?channel=${channel}${since === 0 ? '' : `&from=${dateTime(since).replace(' ', 'T')}`}`;
}

function useWords({
  channel,
  traffic,
  sharedReason,
}: Pick<ChannelNoteProps, 'channel' | 'traffic' | 'sharedReason'>): string {
  const { t } = useTranslation();
  const state = stateOf(channel, traffic);
  const failure = failureOf(channel);
  if (failure !== null)
    return t('channels.trouble', { time: dateTime(failure.at), reason: storedIn(failure.reason, currentLanguage()) });
  if (state === 'slow' && traffic !== undefined)
    return t('channels.slowNow', { p95: milliseconds(traffic.p95), usual: milliseconds(traffic.usual_p95) });
  if (state !== 'failing' || traffic === undefined) {
    const error = testErrorOf(channel);
    return error === undefined
      ? t('channels.state.auto')
      : t('channels.testFailed', { time: dateTime(channel.test_time), error });
  }
  const { words, since, failed, saved, saved_by } = traffic;
  const names = saved_by.map(({ name, requests }) => (saved_by.length === 1 ? name : `${name} ${requests}`)).join(', ');
  const how =
    names === ''
      ? t('channels.savedByNone')
      : saved >= failed
        ? t('channels.savedAllBy', { names })
        : t('channels.savedSomeBy', { saved, names });
  const what =
    words === ''
      ? t('channels.failingWords')
      : words === sharedReason
        ? t('channels.failingAsAbove')
        : failureWords(words, t).replace(/[.。]$/, '');
  return t('channels.failingSince', { what, time: clock(since), count: failed, how });
}

/** A new key mends what was said about the key; not an address that nobody answers at, a limit or a fault of the upstream. */
const isAboutKey = (words: string): boolean =>
  !/^(unreachable|timeout|broken|invalid|empty|404|429|5\d\d)\b|\bE[A-Z]{4,}\b/.test(words);

export function ChannelNote({ channel, traffic, actions, sharedReason, onTest }: ChannelNoteProps) {
  const { t } = useTranslation();
  const state = stateOf(channel, traffic);
  const words = useWords({ channel, traffic, sharedReason });
  const slow = state === 'slow';
  const keyHelps = !slow && isAboutKey(failureOf(channel)?.reason || traffic?.words || testErrorOf(channel) || '');
  const half = Math.floor(channel.weight / 2);
  const dot = <span className="text-ink-3">·</span>;
  return (
    <div
      className={`ml-8 flex flex-wrap items-center gap-x-1.5 border-l-2 pl-2.5 max-sm:ml-0 ${slow ? 'border-warning-solid text-warning' : 'border-danger-solid text-danger'}`}
    >
      <span className="break-words">{words}</span>
      <span className="flex flex-wrap items-center gap-x-1.5">
        <button type="button" className={act} onClick={() => onTest(channel)}>
          {t('channels.test')}
        </button>
        {!keyHelps ? null : (
          <>
            {dot}
            <Link className={act} href={`/channel/edit/${channel.id}${location.search}#key`}>
              {t('channels.newKey')}
            </Link>
          </>
        )}
        {traffic === undefined || (state !== 'failing' && !slow) ? null : (
          <>
            {dot}
            <Link className={act} href={requestsOf(channel, traffic)}>
              {slow ? t('channels.requests') : t('channels.failedRequests', { count: traffic.failed })}
            </Link>
          </>
        )}
        {slow && half > 0 ? (
          <>
            {dot}
            <button type="button" className={act} onClick={() => actions.setNumber(channel, 'weight', half)}>
              {t('channels.halveWeight')}
            </button>
          </>
        ) : null}
        {slow ? null : (
          <>
            {dot}
            <button
              type="button"
              className={act}
              onClick={() => actions.setStatus([channel], channel.status === 1 ? 2 : 1)}
            >
              {channel.status === 1 ? t('app.disable') : t('app.enable')}
            </button>
          </>
        )}
      </span>
    </div>
  );
}
