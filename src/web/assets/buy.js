// Without this script, people reload the page of a funding link. With it, the page follows the payment, counts down the time left
// and offers copy buttons.

// Counts down from the seconds that the server sent, because the clock of a phone may be wrong.
let counted;
let end;

// The polling interval when the server refuses a stream.
const lookAgainMs = 5000;

let events;
const main = document.querySelector('main[data-events]');
if (main) {
  follow(main);
  addEventListener('pagehide', () => events.close());
  // After the card company, the browser may show an outdated page from its cache.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
  showTimeLeft();
  setInterval(showTimeLeft, 1000);
}

// Browsers offer the clipboard only over HTTPS and on localhost.
if (navigator.clipboard) {
  document.documentElement.classList.add('can-copy');
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}

function follow(page) {
  events = new EventSource(page.dataset.events);
  events.addEventListener('state', ({ data }) => {
    const state = JSON.parse(data);
    show(page, state);
    if (state.phase === 'over') events.close();
  });
  // Browsers reconnect after a lost connection, but not after a refusal, such as too many open streams.
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => lookAgain(page), lookAgainMs);
  });
}

// Reloads the page in the background, shows what changed, and tries the stream again.
async function lookAgain(page) {
  try {
    const answer = await fetch(location.href);
    const loaded = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const now = loaded.querySelector('main[data-phase]');
    if (now) {
      show(page, {
        phase: now.dataset.phase,
        title: loaded.title,
        said: loaded.querySelector('.announced').textContent,
        progress: now.querySelector('.progress')?.innerHTML ?? '',
        main: now.innerHTML,
      });
    }
  } catch {
    // Offline, the page keeps its last state.
  }
  if (page.dataset.phase !== 'over') follow(page);
}

function show(page, state) {
  const announced = document.querySelector('.announced');
  if (state.phase === page.dataset.phase) {
    const progress = page.querySelector('.progress');
    if (progress && progress.innerHTML !== state.progress) progress.innerHTML = state.progress;
  } else {
    page.dataset.phase = state.phase;
    page.innerHTML = state.main;
    showTimeLeft();
  }
  document.title = state.title;
  if (announced.textContent !== state.said) announced.textContent = state.said;
}

function showTimeLeft() {
  const left = document.querySelector('[data-left]');
  if (!left) return;
  if (left !== counted) {
    counted = left;
    end = performance.now() + Number(left.dataset.left) * 1000;
  }
  const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
  left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
  left.classList.toggle('soon', seconds < 120);
}
