/** An external chat page, in a frame, with a key of its own. */
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { useUser } from '../../lib/session.ts';

const backToTokensMs = 1500;

export interface ChatPageProps {
  readonly index: number;
  /** Leaves the console for the page instead of framing it. */
  readonly leave?: boolean;
}

export function ChatPage({ index, leave = false }: ChatPageProps) {
  const { t } = useTranslation();
  const user = useUser();
  const [, navigate] = useLocation();
  const opening = useMutation({
    mutationFn: async () => {
      const chat = await call('chat.open', { index });
      return { ...chat, url: chat.url.replaceAll('{address}', encodeURIComponent(siteAddress())) };
    },
  });
  const { mutate, data, error } = opening;
  useEffect(() => {
    if (user !== null) mutate();
  }, [user, mutate]);
  const failed = error !== null || user === null;
  useEffect(() => {
    if (!failed) return;
    const timer = setTimeout(() => navigate('/token'), backToTokensMs);
    return () => clearTimeout(timer);
  }, [failed, navigate]);
  useEffect(() => {
    if (leave && data !== undefined) location.assign(data.url);
  }, [leave, data]);

  if (failed) {
    return (
      <p role="alert" className="p-5 text-danger">
        {error === null ? t('chat.login') : messageOf(error)}
      </p>
    );
  }
  if (data === undefined || leave) return <p className="p-5 text-ink-3">{t('app.loading')}</p>;
  return (
    <div className="flex h-full flex-col">
      <h1 className="sr-only">{t('chat.frame', { name: data.name })}</h1>
      <p className="flex flex-none items-center gap-3 border-b border-line px-5 py-1.5 text-[12px] text-ink-3">
        <span className="min-w-0 flex-1 truncate">{t('chat.child', { name: data.token_name })}</span>
        <a href={data.url} target="_blank" rel="noreferrer">
          {t('chat.outside')}
        </a>
      </p>
      {data.url.startsWith('https:') ? (
        <iframe
          title={t('chat.frame', { name: data.name })}
          src={data.url}
          className="min-h-0 w-full flex-1"
          allow="clipboard-write; microphone"
          sandbox="allow-scripts allow-same-origin allow-forms allow-popups allow-downloads"
        />
      ) : (
        <p className="p-5 text-ink-2">{t('chat.noFrame')}</p>
      )}
    </div>
  );
}
