/** When each key of a channel with several was used last, and what its upstream said when it failed: for people, no decision follows from it. */
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { KeyReport } from './health-report.ts';

/** Others hear at most so often that a key is in use. */
const againMs = 60_000;
/** Keys that are remembered; of the channel that was met first they leave together. */
const maxKeys = 20_000;
/** Reported at a time. */
const keysAtOnce = 500;
/** As many outlast a restart. */
const keptKeys = 2000;
const maxWords = 300;

interface KeyUse {
  usedAt: number;
  errorAt: number;
  error: string;
  isRefused: boolean;
  reportedAt: number;
}

const blank: Readonly<KeyUse> = { usedAt: 0, errorAt: 0, error: '', isRefused: false, reportedAt: 0 };

export class KeyLog {
  private readonly channels = new Map<number, Map<string, KeyUse>>();
  private size = 0;
  private hasChanged = false;

  /** @param now epoch milliseconds. @param changed tells other threads. */
  constructor(
    private readonly now: () => number,
    private readonly changed?: (report: KeyReport) => void,
  ) {}

  /** An upstream answered. */
  succeeded({ id, keyNames }: ChannelSnapshot, keyIndex: number): void {
    const name = keyNames?.[keyIndex];
    if (name === undefined) return;
    const entry = this.entryOf(id, name);
    entry.usedAt = this.now();
    if (!entry.isRefused && entry.usedAt - entry.reportedAt < againMs) return;
    entry.isRefused = false;
    this.report(id, name, entry);
  }

  failed({ id, keyNames }: ChannelSnapshot, keyIndex: number, failure: UpstreamFailure): void {
    const name = keyNames?.[keyIndex];
    if (name === undefined) return;
    const entry = this.entryOf(id, name);
    entry.usedAt = this.now();
    if (failure.class !== 'key') return;
    entry.errorAt = entry.usedAt;
    entry.error = wordsOf(failure);
    // Whoever is told to come back later is not turned down.
    entry.isRefused = failure.status !== 429 || failure.named === true;
    this.report(id, name, entry);
  }

  of(channelId: number, name: string): Pick<KeyReport, 'usedAt' | 'errorAt' | 'error' | 'isRefused'> {
    const { usedAt, errorAt, error, isRefused } = this.channels.get(channelId)?.get(name) ?? blank;
    return { usedAt, errorAt, error, isRefused };
  }

  namesOf(channelId: number): string[] {
    return [...(this.channels.get(channelId)?.keys() ?? [])];
  }

  receive({ channelId, name, usedAt, errorAt, error, isRefused }: KeyReport): void {
    this.hasChanged = true;
    const entry = this.entryOf(channelId, name);
    entry.usedAt = Math.max(entry.usedAt, usedAt);
    if (errorAt < entry.errorAt) return;
    Object.assign(entry, { errorAt, error, isRefused });
  }

  /** The channel was edited or passed a test: what an upstream turned down it may take now. */
  reset(channelId: number): void {
    for (const entry of this.channels.get(channelId)?.values() ?? []) entry.isRefused = false;
  }

  /** Something changed since the last call. */
  takeChanged(): boolean {
    const { hasChanged } = this;
    this.hasChanged = false;
    return hasChanged;
  }

  /** What is remembered, in pieces. */
  *remembered(): Generator<readonly KeyReport[], undefined> {
    let reports: KeyReport[] = [];
    for (const [channelId, entries] of this.channels)
      for (const [name, entry] of entries) {
        reports.push(reportOf(channelId, name, entry));
        if (reports.length < keysAtOnce) continue;
        yield reports;
        reports = [];
      }
    yield reports;
  }

  private entryOf(channelId: number, name: string): KeyUse {
    let entries = this.channels.get(channelId);
    const known = entries?.get(name);
    if (known !== undefined) return known;
    if (this.size >= maxKeys) {
      const oldest = this.channels.keys().next().value;
      this.size -= this.channels.get(oldest ?? channelId)?.size ?? 0;
      this.channels.delete(oldest ?? channelId);
      entries = this.channels.get(channelId);
    }
    if (entries === undefined) {
      entries = new Map();
      this.channels.set(channelId, entries);
    }
    const fresh = { ...blank };
    entries.set(name, fresh);
    this.size++;
    return fresh;
  }

  private report(channelId: number, name: string, entry: KeyUse): void {
    this.hasChanged = true;
    entry.reportedAt = entry.usedAt;
    this.changed?.(reportOf(channelId, name, entry));
  }
}

/** Those that were used last. */
export const outlasting = (keys: readonly KeyReport[]): readonly KeyReport[] =>
  keys.length <= keptKeys ? keys : keys.toSorted((a, b) => b.usedAt - a.usedAt).slice(0, keptKeys);

const reportOf = (channelId: number, name: string, { usedAt, errorAt, error, isRefused }: KeyUse): KeyReport => ({
  channelId,
  name,
  usedAt,
  errorAt,
  error,
  isRefused,
});

/** The upstream's words are redacted by then. */
const wordsOf = ({ status, error, reason }: UpstreamFailure): string =>
  [status === null ? '' : `HTTP ${status}`, error?.code || error?.type || '', error?.message ?? reason]
    .filter((part) => part !== '')
    .join(' · ')
    .slice(0, maxWords);
