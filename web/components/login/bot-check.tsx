/** Turnstile's widget; nothing at all where the site has no bot check. */
import { useEffect, useRef } from 'react';
import { useStatus } from '../../lib/status.ts';

interface Turnstile {
  render(
    place: HTMLElement,
    options: { readonly sitekey: string; readonly callback: (token: string) => void; readonly theme: string },
  ): string;
  remove(id: string): void;
}

const address = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';
const loaded = (): Turnstile | undefined => (window as { readonly turnstile?: Turnstile }).turnstile;

let loading: Promise<void> | null = null;
const load = (): Promise<void> => {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.onload = () => resolve();
    script.onerror = () => reject(new Error(address));
    document.head.append(script);
  });
  return loading;
};

/** @returns what the form needs: whether it may be sent, and the token to send. */
export function useBotCheck() {
  const status = useStatus().data;
  const token = useRef('');
  return {
    wanted: status?.turnstile_check === true,
    token,
    isReady: () => status?.turnstile_check !== true || token.current !== '',
  };
}

/** @param round counts up after each sending: a token is good for one. */
export function BotCheck({ token, round }: { readonly token: { current: string }; readonly round: number }) {
  const place = useRef<HTMLDivElement>(null);
  const status = useStatus().data;
  const sitekey = status?.turnstile_check === true ? (status.turnstile_site_key ?? '') : '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round wants a new token
  useEffect(() => {
    if (sitekey === '' || place.current === null) return;
    const holder = place.current;
    let id: string | null = null;
    let current = true;
    token.current = '';
    load().then(
      () => {
        if (!current) return;
        const theme = document.documentElement.dataset.theme ?? 'light';
        const callback = (given: string) => {
          token.current = given;
        };
        id = loaded()?.render(holder, { sitekey, callback, theme }) ?? null;
      },
      () => undefined,
    );
    return () => {
      current = false;
      if (id !== null) loaded()?.remove(id);
    };
  }, [sitekey, round, token]);
  return sitekey === '' ? null : <div ref={place} className="mb-4 min-h-16" />;
}
