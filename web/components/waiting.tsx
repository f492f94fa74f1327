/** Something is being read. */
import { useTranslation } from 'react-i18next';

export function Waiting() {
  const { t } = useTranslation();
  return (
    <p role="status" data-waiting className="p-5 text-ink-3">
      {t('app.loading')}
    </p>
  );
}
