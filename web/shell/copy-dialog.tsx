/** What could not be copied, ready to be selected. */
import { useTranslation } from 'react-i18next';
import { Sheet } from '../components/overlay.tsx';
import { showText, usePendingText } from '../lib/copy.ts';

export function CopyDialog() {
  const { t } = useTranslation();
  const text = usePendingText();
  if (text === null) return null;
  return (
    <Sheet title={t('app.copyFailed.title')} onClose={() => showText(null)}>
      <textarea
        className="field font-mono"
        rows={4}
        readOnly
        value={text}
        aria-label={t('app.copyFailed.title')}
        onFocus={(event) => event.target.select()}
      />
    </Sheet>
  );
}
