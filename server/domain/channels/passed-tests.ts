/** Remembers which channels answered before they were stored, so that one that is stored soon after is not called untested. */
import type { Vault } from '../secrets/vault.ts';

const ttlSeconds = 900;
const max = 100;

/** What decides where a request goes and with which credential. */
export interface TestedChannel {
  readonly type: number;
  readonly key: string;
  readonly base_url?: string | undefined;
  readonly other?: string | undefined;
  readonly setting?: string | undefined;
}

export class PassedTests {
  private readonly passed = new Map<string, { readonly test_at: number; readonly response_time_ms: number }>();
  private readonly vault: Pick<Vault, 'keyHmac'>;

  constructor(vault: Pick<Vault, 'keyHmac'>) {
    this.vault = vault;
  }

  private nameOf({ type, key, base_url, other, setting }: TestedChannel): string {
    return this.vault.keyHmac(
      JSON.stringify([type, key.trim(), base_url?.trim().replace(/\/+$/, ''), other?.trim(), setting?.trim()]),
    );
  }

  keep(channel: TestedChannel, ms: number, now: number): void {
    if (this.passed.size >= max) this.passed.clear();
    this.passed.set(this.nameOf(channel), { test_at: now, response_time_ms: Math.round(ms) });
  }

  /** @returns columns of the row; none when it did not pass a short while ago. */
  columnsOf(channel: TestedChannel, now: number): { readonly test_at?: number; readonly response_time_ms?: number } {
    const found = this.passed.get(this.nameOf(channel));
    return found === undefined || now - found.test_at > ttlSeconds ? {} : found;
  }
}
