/** How a drawing or a task stands: word and shape carry it, colour repeats it. */
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { channelColor } from '../../components/channel-color.ts';
import { Icon } from '../../components/icon.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { duration } from '../../lib/format.ts';

const known = ['NOT_START', 'SUBMITTED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'MODAL', 'QUEUED'] as const;

export function TaskStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation();
  const name = known.find((one) => one === status);
  const shape = status === 'SUCCESS' ? '' : status === 'FAILURE' ? 'status-bad' : 'status-wait';
  return (
    <span className={`status ${name === undefined ? 'status-off' : shape}`}>
      {name === undefined ? t(status === '' ? 'tasks.s_EMPTY' : 'tasks.s_UNKNOWN') : t(`tasks.s_${name}`)}
    </span>
  );
}

/** `70%` as a bar; anything else as it is. */
export function Progress({ text, failed }: { readonly text: string; readonly failed: boolean }) {
  const share = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (share === undefined) return <span className="text-ink-2">{text}</span>;
  return (
    <span className="flex items-center gap-2">
      <span className="h-1 w-12 overflow-hidden rounded-1 bg-press">
        <span className={`block h-full ${failed ? 'bg-warning' : 'bg-accent'}`} style={{ width: `${share}%` }} />
      </span>
      {text}
    </span>
  );
}

/** One line of a user's text, or two of why it failed; all of it in the tooltip, and on a phone. */
export function Words({ text, failed = false }: { readonly text: string; readonly failed?: boolean }) {
  return (
    <span
      title={text}
      className={
        failed
          ? 'line-clamp-2 w-48 text-[12px] leading-4 whitespace-normal text-danger max-sm:w-auto'
          : 'block max-w-40 truncate xl:max-w-64 max-sm:max-w-full max-sm:whitespace-normal'
      }
    >
      {text}
    </span>
  );
}

interface TwoLinesProps {
  readonly children: ReactNode;
  readonly below: ReactNode;
  /** The second one gives way on a phone. */
  readonly wideOnly?: boolean;
}

/** A fact, and below it in small print another one of the same matter; on a phone beside it. */
export function TwoLines({ children, below, wideOnly = false }: TwoLinesProps) {
  return (
    <span className="block py-1.5 max-sm:flex max-sm:items-center max-sm:gap-2 max-sm:py-0">
      <span className="block">{children}</span>
      <span className={`block text-[12px] leading-4 text-ink-3 ${wideOnly ? 'max-sm:hidden' : ''}`}>{below}</span>
    </span>
  );
}

const slowSeconds = 60;

/** Green up to a minute, red above. @param seconds 0 = not finished. */
export function Elapsed({ seconds }: { readonly seconds: number }) {
  if (seconds <= 0) return '–';
  return <span className={seconds <= slowSeconds ? 'text-success' : 'text-danger'}>{duration(seconds)}</span>;
}

/** A picture that opens with its row; an empty frame until there is one. */
export function Thumbnail({ url, words }: { readonly url: string; readonly words: string }) {
  const size = 'size-10 flex-none rounded-2 bg-sunken';
  // Links of upstreams end after a while.
  const [broken, setBroken] = useState('');
  return url === '' || url === broken ? (
    <span className={`grid place-items-center text-ink-3 ${size}`} role="img" aria-label={words} title={words}>
      <Icon name="image" />
    </span>
  ) : (
    <img
      src={url}
      alt={words}
      title={words}
      loading="lazy"
      className={`object-cover ${size}`}
      onError={() => setBroken(url)}
    />
  );
}

/** A click copies the number. @param name absent or '' = the channel is gone: its number says which it was. */
export function ChannelTag({ id, name }: { readonly id: number; readonly name?: string | undefined }) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      className="flex min-h-6 max-w-40 items-center gap-1.5 rounded-1 border border-line-strong px-1.5 text-[12px] text-ink-2 hover:bg-hover"
      title={t('tasks.copyChannel', { id })}
      onClick={() => copyOrShow(String(id))}
    >
      <span className="size-2 flex-none rounded-[2px]" style={{ background: channelColor(id) }} aria-hidden="true" />
      <span className="truncate">{name || id}</span>
    </button>
  );
}

/** `70%` as a ring that fills; anything else as it is. */
export function Ring({ text, failed }: { readonly text: string; readonly failed: boolean }) {
  const share = /^(\d+(?:\.\d+)?)%?$/.exec(text)?.[1];
  if (share === undefined) return <span className="text-ink-2">{text}</span>;
  return (
    <span className="flex items-center gap-2">
      <svg viewBox="0 0 36 36" className="size-5 -rotate-90" aria-hidden="true">
        <circle cx="18" cy="18" r="16" fill="none" strokeWidth="4" className="stroke-press" />
        <circle
          cx="18"
          cy="18"
          r="16"
          fill={Number(share) === 100 ? 'currentColor' : 'none'}
          strokeWidth="4"
          pathLength={100}
          strokeDasharray={`${share} 100`}
          className={failed ? 'stroke-warning text-warning' : 'stroke-accent text-accent'}
        />
        {/* Done: a disc with a tick, so that it is not taken for a button that is on. */}
        {Number(share) === 100 && !failed ? (
          <path
            d="M13 18l4 4 7-8"
            transform="rotate(90 18 18)"
            fill="none"
            strokeWidth="3"
            className="stroke-surface"
          />
        ) : null}
      </svg>
      {share}%
    </span>
  );
}
