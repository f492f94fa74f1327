/** When each key of a channel with several was used last, and what its upstream said when it failed: for people, no decision follows from it. */
import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { UpstreamFailure } from '../shared/failure.ts';
import type { KeyReport } from './health-report.ts';

/** Others hear at most so often that a key is in use. */
const againMs = 60_000;
/** Keys that are remembered; of the channel that was met first they leave together. */
const maxKeys = 20_000;
/** As many outlast a restart. */
const keptKeys = 2000;
const maxWords = 300;

interface KeyWord {
  usedAt: number;
  errorAt: number;
  error: string;
  isRefused: boolean;
  reportedAt: number;
}

const blank: Readonly<KeyWord> = { usedAt: 0, errorAt: 0, error: '', isRefused: false, reportedAt: 0 };

export class KeyLog {
  private readonly channels = new Map<number, Map<string, KeyWord>>();
  private size = 0;
  private hasNews = false;

  /** @param now epoch milliseconds. @param changed tells other threads. */
  constructor(
    private readonly now: () => number,
    private readonly changed?: (word: KeyReport) => void,
  ) {}

  /** An upstream answered. */
  succeeded({ id, keyNames }: ChannelSnapshot, keyIndex: number): void {
    const name = keyNames?.[keyIndex];
    if (name === undefined) return;
    const word = this.wordOf(id, name);
    word.usedAt = this.now();
    if (!word.isRefused && word.usedAt - word.reportedAt < againMs) return;
    word.isRefused = false;
    this.report(id, name, word);
  }

  failed({ id, keyNames }: ChannelSnapshot, keyIndex: number, failure: UpstreamFailure): void {
    const name = keyNames?.[keyIndex];
    if (name === undefined) return;
    const word = this.wordOf(id, name);
    word.usedAt = this.now();
    if (failure.class !== 'key') return;
    word.errorAt = word.usedAt;
    word.error = wordsOf(failure);
    // Whoever is told to come back later is not turned down.
    word.isRefused = failure.status !== 429 || failure.named === true;
    this.report(id, name, word);
  }

  of(channelId: number, name: string): Pick<KeyReport, 'usedAt' | 'errorAt' | 'error' | 'isRefused'> {
    const { usedAt, errorAt, error, isRefused } = this.channels.get(channelId)?.get(name) ?? blank;
    return { usedAt, errorAt, error, isRefused };
  }

  namesOf(channelId: number): string[] {
    return [...(this.channels.get(channelId)?.keys() ?? [])];
  }

  receive({ channelId, name, usedAt, errorAt, error, isRefused }: KeyReport): void {
    this.hasNews = true;
    const word = this.wordOf(channelId, name);
    word.usedAt = Math.max(word.usedAt, usedAt);
    if (errorAt < word.errorAt) return;
    Object.assign(word, { errorAt, error, isRefused });
  }

  /** The channel was edited or passed a test: what an upstream turned down it may take now. */
  reset(channelId: number): void {
    for (const word of this.channels.get(channelId)?.values() ?? []) word.isRefused = false;
  }

  /** Something changed since the last call. */
  takeNews(): boolean {
    const { hasNews } = this;
    this.hasNews = false;
    return hasNews;
  }

  /** What outlasts a restart. */
  remembered(): KeyReport[] {
    const all = [...this.channels].flatMap(([channelId, words]) =>
      [...words].map(([name, word]) => reportOf(channelId, name, word)),
    );
    return all.length <= keptKeys ? all : all.toSorted((a, b) => b.usedAt - a.usedAt).slice(0, keptKeys);
  }

  private wordOf(channelId: number, name: string): KeyWord {
    let words = this.channels.get(channelId);
    const known = words?.get(name);
    if (known !== undefined) return known;
    if (this.size >= maxKeys) {
      const oldest = this.channels.keys().next().value;
      this.size -= this.channels.get(oldest ?? channelId)?.size ?? 0;
      this.channels.delete(oldest ?? channelId);
      words = this.channels.get(channelId);
    }
    if (words === undefined) {
      words = new Map();
      this.channels.set(channelId, words);
    }
    const fresh = { ...blank };
    words.set(name, fresh);
    this.size++;
    return fresh;
  }

  private report(channelId: number, name: string, word: KeyWord): void {
    this.hasNews = true;
    word.reportedAt = word.usedAt;
    this.changed?.(reportOf(channelId, name, word));
  }
}

const reportOf = (channelId: number, name: string, { usedAt, errorAt, error, isRefused }: KeyWord): KeyReport => ({
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
