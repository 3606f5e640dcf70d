// A load test with k6. The mock serves for its duration, and the report says whether its timing can be trusted:
//
//   mockserver run examples/tasks.yml --name tasks --rate 100 -- k6 run examples/load/k6.js
//
// The exit code is 99 if a threshold of k6 does not hold, otherwise 3 if the timing of the mock cannot be trusted.
import http from 'k6/http';
import { check } from 'k6';

const mock = __ENV.MOCK_URL || 'http://127.0.0.1:8000';

export const options = {
  scenarios: {
    // Open: a slow server does not get fewer requests.
    tasks: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE || 100),
      timeUnit: '1s',
      duration: __ENV.DURATION || '30s',
      preAllocatedVUs: 50,
    },
  },
  thresholds: {
    checks: ['rate==1'],
    dropped_iterations: ['count==0'], // otherwise k6 itself was too slow
  },
};

export default function () {
  const response = http.get(`${mock}/tasks/7`);
  check(response, { 'is task 7': (r) => r.status === 200 && r.json('id') === 7 });
}
