/** Talk to a model on one's own account: settings beside, conversation in the middle. */
import { type SyntheticEvent, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { PageHead } from '../../components/page.tsx';
import { Lines } from './lines.tsx';
import { SettingsForm } from './settings-form.tsx';
import { useConversation } from './use-conversation.ts';
import { useSettings } from './use-settings.ts';

export function PlaygroundPage() {
  const { t } = useTranslation();
  const settings = useSettings();
  const { model } = settings;
  const [text, setText] = useState('');
  const { lines, busy, send, stop, clear } = useConversation(settings);
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (new URLSearchParams(location.search).get('expired') === 'true') toast.error(t('login.expired'));
  }, [t]);
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (send(text)) setText('');
  };

  return (
    <>
      <PageHead title={t('playground.title')}>
        <button type="button" className="button sm:hidden" aria-expanded={shown} onClick={() => setShown(!shown)}>
          {t('nav.settings')}
        </button>
        <button type="button" className="button" disabled={lines.length === 0} onClick={clear}>
          {t('playground.clear')}
        </button>
      </PageHead>
      <div className="flex gap-5 px-5 pb-5 max-sm:flex-col">
        <div className={shown ? '' : 'max-sm:hidden'}>
          <SettingsForm settings={settings} />
        </div>
        <div className="flex min-h-[60dvh] min-w-0 flex-1 flex-col rounded-3 border border-line bg-surface">
          <Lines lines={lines} model={model} />
          <form onSubmit={submit} className="flex gap-2 border-t border-line p-3">
            <textarea
              className="field min-w-0 flex-1"
              rows={2}
              aria-label={t('playground.say')}
              placeholder={t('playground.say')}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
              }}
            />
            {!busy ? (
              <button type="submit" className="button button-primary self-end">
                {t('playground.send')}
              </button>
            ) : (
              <button type="button" className="button self-end" onClick={stop}>
                {t('playground.stop')}
              </button>
            )}
          </form>
        </div>
      </div>
    </>
  );
}
